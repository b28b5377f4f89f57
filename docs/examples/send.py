"""Sends a text and a document. Needs API_URL, NUNCIO_TOKEN, FROM, TO, DOCUMENT_URL and ORDER in the environment."""

import http.client
import json
import sys
import time
import urllib.error
import urllib.request
from os import environ

WANTED = ("API_URL", "NUNCIO_TOKEN", "FROM", "TO", "DOCUMENT_URL", "ORDER")
MISSING = [name for name in WANTED if not environ.get(name)]
if MISSING:
    sys.exit(f"Set {', '.join(MISSING)} in the environment.")

ENDPOINT = environ["API_URL"] + "/chat/api/v1/public/message/send"


class Refused(Exception):
    """The service did not take the message."""


def send(key, message):
    """The key belongs to what happened, not to the try: running this again for the same order sends nothing twice."""
    body = json.dumps({"from": environ["FROM"], "to": environ["TO"], "message": message}).encode()
    headers = {"x-api-key": environ["NUNCIO_TOKEN"], "content-type": "application/json", "idempotency-key": key}
    for wait_seconds in (1, 2, 4, None):
        try:
            request = urllib.request.Request(ENDPOINT, body, headers)
            with urllib.request.urlopen(request, timeout=10) as reply:
                if json.load(reply)["success"]:
                    return reply.headers["x-message-id"]
        except urllib.error.HTTPError as error:
            if error.code != 429 and error.code < 500:
                raise Refused(explain(error)) from error
            asked = error.headers.get("retry-after", "")
            wait_seconds = wait_seconds and max(wait_seconds, int(asked) if asked.isdigit() else 0)
        except (OSError, http.client.HTTPException, ValueError, LookupError):
            # Nobody knows whether the message was stored. With the same key it is safe to send it again.
            pass
        time.sleep(wait_seconds or 0)
    raise TimeoutError("nobody knows; run this again")


def explain(error):
    try:
        errors = json.load(error)["data"]["errors"]
    except (ValueError, LookupError, TypeError):
        return f"{error.code}: not an answer of the service"
    return "; ".join(f"{each['field']} {each['code']}: {each['message']}" for each in errors)


def main():
    order = environ["ORDER"]
    media = {"name": "invoice.pdf", "url": environ["DOCUMENT_URL"], "caption": "Your invoice"}
    messages = {
        f"order-{order}-text": {"type": "message", "message": "Your order is on its way."},
        f"order-{order}-invoice": {"type": "document", "media": media},
    }
    for key, message in messages.items():
        try:
            print(f"{key}: accepted as {send(key, message)}")
        except Refused as refused:
            sys.exit(f"{key}: refused: {refused}")
        except TimeoutError as error:
            sys.exit(f"{key}: {error}")


main()
