"""The Workshop with the tools of this stack: cargo, tsc, vitest. Test names come from the files in memory."""

import re

from source.workshop import Workshop

RUST_TEST = re.compile(r"#\[test\]\s+fn (\w+)")
TS_TEST = re.compile(r"^\s*(?:it|test)\(\"([^\"]+)\"", re.M)
CRATES = ("grajo-cli", "grajo-core", "grajo-store")


class Rustshop(Workshop):
    """Every method is one tool call unless it says otherwise."""

    def rust_tests(self, crate: str) -> list[str]:
        """Full names of a crate's tests (no tool call)."""
        out = []
        for path in sorted(self.files):
            if path.startswith(f"crates/{crate}/src/") and path.endswith(".rs"):
                inside = path.removeprefix(f"crates/{crate}/src/").removesuffix(".rs").removesuffix("/mod")
                module = inside.replace("/", "::")
                out += [f"{module}::tests::{name}" for name in RUST_TEST.findall(self.files[path])]
        return out

    def cargo_test(self, *crates: str, failing: dict[str, str] | None = None, built: str = "", seconds: float = 14) -> str:
        """Run the tests of these crates (all without names); failing: last part of the name → its output."""
        failing, chosen, out = failing or {}, crates or CRATES, []
        out += [f"   Compiling {c} v0.8.3 ({self.session.cwd}/crates/{c})" for c in chosen]
        out += [built] if built else []
        out.append(f"    Finished test [unoptimized + debuginfo] target(s) in {seconds / 2:.2f}s")
        for crate in chosen:
            out += self._one_crate(crate, failing)
        command = "cargo test " + (" ".join(f"-p {c}" for c in crates) if crates else "--workspace")
        return self.run(command, "\n".join(out), why="Run the tests", error=bool(failing), seconds=seconds)

    def _one_crate(self, crate: str, failing: dict[str, str]) -> list[str]:
        names = self.rust_tests(crate)
        broken = [n for n in names if n.rsplit("::", 1)[1] in failing]
        out = [f"     Running unittests src/lib.rs (target/debug/deps/{crate.replace('-', '_')}-{len(names):016x})", "", f"running {len(names)} tests"]
        out += [f"test {n} ... {'FAILED' if n in broken else 'ok'}" for n in names]
        if broken:
            out += ["", "failures:", ""]
            for n in broken:
                out += [f"---- {n} stdout ----", failing[n.rsplit("::", 1)[1]], ""]
            out += ["", "failures:", *(f"    {n}" for n in broken)]
        verdict = "FAILED" if broken else "ok"
        out += ["", f"test result: {verdict}. {len(names) - len(broken)} passed; {len(broken)} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.{len(names):02d}s", ""]
        if broken:
            out.append(f"error: test failed, to rerun pass `-p {crate} --lib`")
        return out

    def vitest(self, failing: dict[str, str] | None = None) -> str:
        """Run the viewer's tests."""
        failing, out, count = failing or {}, [" RUN  v1.6.0 " + self.full("viewer"), ""], 0
        paths = [p for p in sorted(self.files) if p.startswith("viewer/test/")]
        for path in paths:
            names = TS_TEST.findall(self.files[path])
            count += len(names)
            bad = [n for n in names if n in failing]
            mark = "❯" if bad else "✓"
            out.append(f" {mark} {path.removeprefix('viewer/')}  ({len(names)} tests{f' | {len(bad)} failed' if bad else ''})")
            out += [f"   {'×' if n in bad else '✓'} {n}" for n in names]
        for name, text in failing.items():
            out += ["", f" FAIL  {name}", text]
        counts = f"{len(failing)} failed | " * bool(failing) + f"{count - len(failing)} passed ({count})"
        out += ["", f" Test Files  {len(paths)}", f"      Tests  {counts}", "   Duration  1.31s"]
        return self.run("cd viewer && npx vitest run", "\n".join(out), error=bool(failing), seconds=4)

    def tsc(self, *errors: str) -> str:
        """Check the types."""
        output = "\n".join(errors)
        if errors:
            places = {e.split("(")[0] for e in errors if not e.startswith(" ")}
            output += f"\n\nFound {sum(not e.startswith(' ') for e in errors)} errors in {len(places)} files."
        return self.run("cd viewer && npx tsc --noEmit", output, why="Check the types", error=bool(errors), seconds=5)

    def clippy(self, *findings: str) -> str:
        """cargo clippy."""
        head = [f"    Checking {c} v0.8.3 ({self.session.cwd}/crates/{c})" for c in ("grajo-core", "grajo-store", "grajo-cli")]
        tail = f"error: could not compile `grajo-core` (lib) due to {len(findings)} previous errors" if findings else "    Finished dev [unoptimized + debuginfo] target(s) in 3.84s"
        output = "\n".join([*head, *findings, tail])
        return self.run("cargo clippy --workspace --all-targets -- -D warnings", output, error=bool(findings), seconds=9)
