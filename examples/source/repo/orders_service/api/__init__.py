"""All routers, in the order of the documentation."""

import importlib

NAMES = ("orders", "payments", "refunds", "shipments", "invoices", "stock_reservations", "coupons", "customers",
         "return_requests", "webhook_deliveries", "addresses", "audit_entries")
routers = [importlib.import_module(f"orders_service.api.{name}").router for name in NAMES]
