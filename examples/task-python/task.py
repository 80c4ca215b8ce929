"""A task of a conversation, served over HTTP with nothing but Python's standard library.

Run it with `python3 -u task.py 9000`.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The answers by their idempotency keys. A service that must survive a restart keeps them in its database, beside what it has done.
ANSWERS = {}
LOCK = threading.Lock()


def create_order(call):
    """Creates an order; the members of the answer change the conversation."""
    order = f"B-{len(ANSWERS) + 1}"
    print(f"{order}: {call.get('view', {}).get('userText')}", flush=True)
    return {"set_params": {"order": order}, "state": "ORDERED"}


TASKS = {"orders:create": create_order}


class TaskHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            call = json.loads(body)
            task = TASKS[call["task"]]
        except (ValueError, KeyError, TypeError):
            return self.answer(400, {"error": "the call is not JSON, or names no task of this service"})
        key = self.headers["Idempotency-Key"]
        if not key:
            return self.answer(400, {"error": "the header Idempotency-Key is missing"})
        # The engine repeats a call with the same key when it does not know whether the first one has arrived.
        with LOCK:
            if key not in ANSWERS:
                ANSWERS[key] = task(call)
            else:
                print("the same call again", flush=True)
            result = ANSWERS[key]
        return self.answer(200, result)

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing of each request."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), TaskHandler)
    print(f"Tasks on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
