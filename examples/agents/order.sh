#!/bin/sh
# The order that stands on stdin, as a shop would tell it.
order=$(sed 's/.*"order" *: *"\([0-9]*\)".*/\1/')
echo "order $order: one lamp, 4900 cents, paid"
