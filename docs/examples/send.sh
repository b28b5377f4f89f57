#!/bin/sh
# Sends a text and a document. Needs API_URL, NUNCIO_TOKEN, FROM, TO, DOCUMENT_URL and ORDER in the environment.
set -eu

# The key belongs to what happened, not to the try: running this again for the same order sends nothing twice.
send() {
  key=$1 body=$2
  for wait in 1 2 4 last; do
    # The token comes through the standard input, because others on the machine can read arguments.
    reply=$(printf 'header = "x-api-key: %s"\n' "$NUNCIO_TOKEN" | curl -sS --max-time 10 --config - \
      -H 'content-type: application/json' -H "idempotency-key: $key" -w '\n%{http_code}' \
      --data-binary "$body" "$API_URL/chat/api/v1/public/message/send") || reply='000'
    status=${reply##*
}
    case $status:$reply in
      200:'{"success":true,'*) echo "$key: accepted"; return ;;
      # Not accepted, or nobody knows: with the same key it is safe to send again.
      000:* | 429:* | 5??:*) [ "$wait" = last ] || sleep "$wait" ;;
      *) break ;;
    esac
  done
  # data.errors says for each field what is wrong and how to fix it.
  echo "$key: not accepted: $reply" >&2
  return 1
}

send "order-$ORDER-text" '{"from":"'"$FROM"'","to":"'"$TO"'","message":{"type":"message","message":"Your order is on its way."}}'
send "order-$ORDER-invoice" '{"from":"'"$FROM"'","to":"'"$TO"'","message":{"type":"document","media":{"name":"invoice.pdf","url":"'"$DOCUMENT_URL"'","caption":"Your invoice"}}}'
