"""Settings from the environment, read once at start."""

from functools import lru_cache

from pydantic import BaseSettings, Field, PostgresDsn, RedisDsn


class Settings(BaseSettings):
    """Every setting of the service, with its unit in the name."""

    database_url: PostgresDsn = Field("postgresql+psycopg://orders:orders-local@localhost:5543/orders")
    redis_url: RedisDsn = Field("redis://localhost:6380/0")
    broker_servers: str = "localhost:19092"
    events_topic: str = ""
    payrail_base_url: str = "http://localhost:9099"
    payrail_timeout_seconds: float = 4.0
    payrail_secret: str = ""
    page_size_default: int = 25
    page_size_max: int = 500
    idempotency_ttl_hours: int = 0
    reservation_minutes: int = 20
    relay_batch_size: int = 100
    relay_pause_seconds: float = 0.5
    lock_timeout_ms: int = 2000
    invoice_prefix: str = "FH"
    log_level: str = "INFO"

    class Config:
        env_prefix = "ORDERS_"
        env_file = ".env"


@lru_cache(maxsize=1)
def get_settings() -> Settings:
    """The settings; tests clear the cache."""
    return Settings()
