#!/bin/sh
# Pays once for each key; with --look it only reports whether it did. Its ledger is beside it, or at
# REFUNDS.
book=${REFUNDS:-refunds.book}
if grep -qs "^$PERDURE_KEY " "$book"; then
  echo "paid"
  exit 0
fi
test "$1" = --look && exit 75
echo "$PERDURE_KEY $(sed 's/"token" *: *"[^"]*"/"token":"…"/')" >> "$book" && echo "paid"
