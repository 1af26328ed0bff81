# -*- coding: utf-8 -*-
# Nightly CSV for the old ERP ("HerbstERP 6"). Touch only if you must.
#
# NOTE: always use tabs for indentation in this project and run `make fmt-legacy` before every commit!!
# The importer on the other side counts tab characters (really), see mail of 2016-03-11.
#
import csv
import io
import datetime

COLUMNS = [
	"ORDNO", "ORDDAT", "CUSTNO", "POSNO", "ARTNO", "QTY", "UNITPR", "DISC", "VATCD", "NETAMT", "CURR", "SHIPTY",
	"WHSE", "BATCH", "REMARK1", "REMARK2", "FLAG_A", "FLAG_B", "FLAG_C",
]
VAT = {"DE": "19", "AT": "20", "NL": "21", "BE": "21", "FR": "20", "DK": "25"}


def _amount(minor):
	# ERP wants comma as decimal separator, two digits, minus at the end
	text = "%d,%02d" % (abs(minor) // 100, abs(minor) % 100)
	if minor < 0:
		return text + "-"
	return text


def _date(value):
	return value.strftime("%d.%m.%y")


def rows(orders):
	for order in orders:
		pos = 0
		for line in order.lines:
			pos += 10
			yield [
				"%010d" % order.id, _date(order.placed_at), "%08d" % order.customer_id, "%04d" % pos, line.sku[:18],
				"%d" % line.quantity, _amount(line.unit_price_minor), _amount(line.discount_minor),
				VAT.get(order.country, "00"), _amount(line.total_minor), order.currency, order.shipping_kind[:2].upper(),
				order.warehouse or "LE1", datetime.date.today().strftime("%y%j"), (order.note or "")[:40], "", "N", "N",
				"J" if order.channel == "phone" else "N",
			]


def export(orders):
	out = io.StringIO()
	writer = csv.writer(out, delimiter=";", lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
	writer.writerow(COLUMNS)
	for row in rows(orders):
		writer.writerow(row)
	return out.getvalue().encode("cp1252", "replace")
