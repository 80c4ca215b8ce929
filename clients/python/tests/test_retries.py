"""What the client does when a server is busy, slow or gone, shown by servers that are."""

from __future__ import annotations

import json
import time
import unittest
from http.server import BaseHTTPRequestHandler

from convengine_client import Client, ConvEngineError

from .servers import scripted, serve

ANSWER = (200, {}, '{"success":true,"conversationId":"c","payload":null}')
BUSY = (503, {"Retry-After": "0"}, '{"status":503,"error":"Service Unavailable","message":"busy"}')
QUOTA = (429, {"Retry-After": "86400"}, '{"error":{"code":"rate_limited","message":"no sessions left"}}')


class RetriesTest(unittest.TestCase):
    def test_a_busy_server_is_asked_again_with_the_same_key(self) -> None:
        limited = (429, {"Retry-After": "0"}, '{"error":{"code":"rate_limited","message":"slowly"}}')
        url, asked = scripted(self, [BUSY, limited, ANSWER])
        self.assertTrue(Client(f"{url}/", api_key="ce_1", tenant="north").tables.send("hello")["success"])
        self.assertEqual(len(asked), 3)
        self.assertEqual(len({request["headers"]["Idempotency-Key"] for request in asked}), 1)
        self.assertRegex(asked[0]["headers"]["Idempotency-Key"], "^[0-9a-f-]{36}$")
        self.assertEqual((asked[0]["headers"]["Authorization"], asked[0]["headers"]["X-Tenant"]), ("Bearer ce_1", "north"))
        self.assertEqual(asked[0]["body"], {"message": "hello"})

    def test_the_start_and_the_events_of_a_session_keep_their_ids(self) -> None:
        turn = (201, {}, '{"session_id":"s1","messages":[]}')
        url, asked = scripted(self, [BUSY, turn, BUSY, turn])
        Client(url).assistant("a b").start().send("hello")
        start, event = "/v1/runtime/assistants/a%20b/sessions", "/v1/runtime/assistants/a%20b/sessions/s1/turns"
        self.assertEqual([request["path"] for request in asked], [start, start, event, event])
        self.assertEqual((asked[0]["body"], asked[2]["body"]), (asked[1]["body"], asked[3]["body"]))
        self.assertTrue(asked[0]["body"]["session_id"] and asked[0]["body"]["event_id"] and asked[2]["body"]["event_id"])

    def test_a_long_pause_another_status_and_too_many_failures_end_the_attempts(self) -> None:
        for response, attempts in ((QUOTA, 1), ((500, {}, '{"error":{"code":"turn_lost","message":"lost"}}'), 1), (BUSY, 3)):
            url, asked = scripted(self, [response])
            with self.assertRaises(ConvEngineError) as raised:
                Client(url).assistant("a").start()
            self.assertEqual((raised.exception.status, len(asked)), (response[0], attempts))
        url, _ = scripted(self, [QUOTA])
        with self.assertRaises(ConvEngineError) as raised:
            Client(url).tables.send("hello")
        error = raised.exception
        self.assertEqual((error.code, error.retry_after, error.body), ("rate_limited", 86400.0, json.loads(QUOTA[2])))

    def test_health_is_asked_once(self) -> None:
        url, asked = scripted(self, [(503, {}, "down")])
        with self.assertRaises(ConvEngineError) as raised:
            Client(url).ready()
        error = raised.exception
        self.assertEqual((error.status, error.code, error.body, len(asked)), (503, "service_unavailable", "down", 1))

    def test_a_silent_server_times_out_and_a_stream_is_not_repeated_for_it(self) -> None:
        asked = []

        def handle(handler: BaseHTTPRequestHandler, _: bytes) -> None:
            asked.append(handler.path)
            if "stream" in handler.path:
                handler.send_response(200)
                handler.end_headers()
                handler.wfile.write(b'event: token\ndata: {"effect":1,"delta":"Hel"}\n\n')
            time.sleep(6)

        client = Client(serve(self, handle), timeout=2)
        with self.assertRaises(ConvEngineError) as raised:
            client.tables.send("hello")
        self.assertEqual((raised.exception.status, raised.exception.code), (0, "timeout"))
        stream = client.assistant("a").session("s").stream("hello")
        self.assertEqual(next(stream), {"type": "token", "data": {"effect": 1, "delta": "Hel"}})
        with self.assertRaises(ConvEngineError) as raised:
            next(stream)
        self.assertEqual((raised.exception.code, len(asked)), ("timeout", 2))

    def test_an_error_at_the_end_of_a_stream_is_raised(self) -> None:
        url, asked = scripted(self, [(200, {}, 'event: error\ndata: {"error":{"code":"turn_lost","message":"lost"}}\n\n')])
        with self.assertRaises(ConvEngineError) as raised:
            list(Client(url).assistant("a").session("s").stream("hello"))
        self.assertEqual((raised.exception.status, raised.exception.code, len(asked)), (200, "turn_lost", 1))

    def test_events_are_read_in_all_their_forms(self) -> None:
        text = ': quiet\n\nid:t:1\nevent:AUDIT\ndata:{"eventType":"AUDIT","a":"ü"}\n\nevent: TOKEN\r\ndata: {"eventType":\r\ndata: "TOKEN"}\r\n\r\n'
        url, _ = scripted(self, [(200, {"Content-Type": "text/event-stream"}, text)])
        expected = [
            {"type": "AUDIT", "id": "t:1", "data": {"eventType": "AUDIT", "a": "ü"}},
            {"type": "TOKEN", "id": None, "data": {"eventType": "TOKEN"}},
        ]
        self.assertEqual(list(Client(url).tables.events("c")), expected)

    def test_a_subscription_is_repeated_before_its_first_event(self) -> None:
        url, asked = scripted(self, [BUSY, (200, {}, 'event:CONNECTED\ndata:{"conversationId":"c"}\n\n')])
        self.assertEqual([event["type"] for event in Client(url).tables.events("c")], ["CONNECTED"])
        self.assertEqual(len(asked), 2)

    def test_an_address_needs_a_scheme(self) -> None:
        with self.assertRaises(ValueError):
            Client("chat.example")
