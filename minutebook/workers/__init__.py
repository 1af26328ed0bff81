"""What thinks in the background: the engine, the runner, one module a role, and the minds that think for them."""
