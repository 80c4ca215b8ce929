"""Talks to a server at CONVENGINE_URL with the pack ``orders`` and the assistant ``desk``, as ``tests/tests/suite/client_packages.rs`` starts it."""

from __future__ import annotations

import json
import os
import threading
import typing
import unittest
import urllib.request
import uuid

from convengine_client import Client, ConvEngineError
from convengine_client import types

from .servers import lossy_proxy

ON_ITS_WAY = "Your order is on its way."


class ServerTest(unittest.TestCase):
    def setUp(self) -> None:
        url = os.environ.get("CONVENGINE_URL")
        assert url, "CONVENGINE_URL is not set; `cargo test --test suite client_packages` starts the server and sets it"
        self.url = url
        self.client = Client(url)

    def texts(self, conversation: str) -> list[str]:
        with urllib.request.urlopen(f"{self.url}/api/v1/conversation/audit/{conversation}") as response:
            rows = json.load(response)
        return [json.loads(row["payloadJson"])["text"] for row in rows if row["stage"] == "USER_INPUT"]

    def test_a_healthy_server_says_so(self) -> None:
        self.assertEqual(self.client.health()["status"], "UP")
        self.assertEqual(self.client.ready()["status"], "UP")

    def test_the_types_are_those_of_the_api(self) -> None:
        with urllib.request.urlopen(f"{self.url}/openapi.json") as response:
            schemas = json.load(response)["components"]["schemas"]
        turn = schemas["TurnResponse"]["properties"]
        for declared, members in (
            (types.TableAnswer, schemas["Answer"]["properties"]),
            (types.Payload, schemas["Answer"]["properties"]["payload"]["properties"]),
            # The member of AI agents.
            (types.TurnResponse, {name: it for name, it in turn.items() if name != "conversation_id"}),
            (types.SessionMessage, turn["messages"]["items"]["properties"]),
        ):
            hints = typing.get_type_hints(declared)
            self.assertEqual(set(hints), set(members))
            for name, member in members.items():
                if "enum" in member:
                    self.assertEqual(set(typing.get_args(hints[name])), set(member["enum"]), name)

    def test_a_conversation_of_tables_goes_on(self) -> None:
        first = self.client.tables.send("my order")
        self.assertEqual((first["success"], first["intent"], first["payload"]), (True, "ORDERS", {"type": "TEXT", "value": ON_ITS_WAY}))
        conversation = first["conversationId"]
        second = self.client.tables.send("hello", conversation_id=conversation, input_params={"note": ", please"})
        self.assertEqual(second["payload"]["value"], "Ask me about orders, please.")
        self.assertEqual(self.texts(conversation), ["my order", "hello"])

    def test_the_events_of_a_turn_come_before_its_answer(self) -> None:
        events = list(self.client.tables.stream("my order"))
        self.assertEqual(events[0]["type"], "CONNECTED")
        stages = [event["data"].get("stage") for event in events]
        self.assertLess(stages.index("USER_INPUT"), stages.index("ENGINE_RETURN"))
        self.assertEqual((events[-1]["type"], events[-1]["data"]["payload"]["value"]), ("ANSWER", ON_ITS_WAY))
        self.assertEqual(events[-1]["data"]["conversationId"], events[0]["data"]["conversationId"])

    def test_a_stream_of_events_continues_after_one_of_them(self) -> None:
        events = list(self.client.tables.stream("my order"))
        at = next(at for at, event in enumerate(events) if event["data"].get("stage") == "USER_INPUT")
        with self.client.tables.events(events[-1]["data"]["conversationId"], last_event_id=events[at]["id"]) as stream:
            self.assertTrue(next(iter(stream))["data"]["resumed"])
            self.assertEqual(next(iter(stream))["id"], events[at + 1]["id"])

    def test_a_message_whose_answer_is_lost_runs_once(self) -> None:
        answer = Client(lossy_proxy(self, self.url, lost=2)).tables.send("my order")
        self.assertEqual(answer["payload"]["value"], ON_ITS_WAY)
        self.assertEqual(self.texts(answer["conversationId"]), ["my order"])
        with self.assertRaises(ConvEngineError) as raised:
            Client(lossy_proxy(self, self.url), retries=0).tables.send("my order")
        self.assertEqual((raised.exception.status, raised.exception.code), (0, "connection_failed"))

    def test_a_key_belongs_to_one_message(self) -> None:
        key = str(uuid.uuid4())
        first = self.client.tables.send("my order", idempotency_key=key)
        self.assertEqual(self.client.tables.send("my order", idempotency_key=key), first)
        for call in (self.client.tables.send, lambda text, **more: list(self.client.tables.stream(text, **more))):
            with self.assertRaises(ConvEngineError) as raised:
                call("hello", idempotency_key=key)
            self.assertEqual((raised.exception.status, raised.exception.code), (422, "unprocessable_entity"))

    def test_a_session_of_an_assistant_goes_on_to_its_end(self) -> None:
        session = self.client.assistant("desk").start(locale="en-US")
        self.assertEqual([message["text"] for message in session.started["messages"]], ["Welcome to Desk."])
        counted = session.send("more please")
        self.assertEqual((counted["status"], counted["messages"][0]["text"]), ("awaiting_input", "Desk 1"))
        self.assertEqual(session.state()["vars"]["count"], 1)
        again = self.client.assistant("desk").session(session.id)
        self.assertEqual(again.send({"type": "user.message", "text": "good bye"})["status"], "completed")
        for call, status, code in ((lambda: again.send("x"), 409, "session_completed"), (self.client.assistant("x").start, 404, "not_found")):
            with self.assertRaises(ConvEngineError) as raised:
                call()
            self.assertEqual((raised.exception.status, raised.exception.code), (status, code))

    def test_a_turn_is_streamed(self) -> None:
        events = list(self.client.assistant("desk").start().stream("more please"))
        self.assertEqual([event["data"]["text"] for event in events if event["type"] == "message"], ["Desk 1"])
        self.assertTrue(any(event["type"] == "trace" and event["data"]["kind"] == "node.enter" for event in events))
        self.assertEqual((events[-1]["type"], len(events[-1]["data"]["messages"])), ("done", 1))

    def test_a_turn_whose_stream_breaks_runs_once_and_shows_each_message_once(self) -> None:
        session = self.client.assistant("desk").start()
        events = list(session.stream("more please"))
        before_done = len(events) - 1
        lossy = Client(lossy_proxy(self, self.url, events=before_done)).assistant("desk").session(session.id)
        shown = [event["type"] for event in lossy.stream("more please") if event["type"] != "trace"]
        self.assertEqual(shown, ["message", "done"])
        self.assertEqual(session.state()["vars"]["count"], 2)

    def test_streams_are_cancelled(self) -> None:
        session = self.client.assistant("desk").start()
        seen = []
        with session.stream("more please") as stream:
            for event in stream:
                seen.append(event["type"])
                stream.cancel()
        self.assertEqual(len(seen), 1)
        listening = self.client.tables.events(str(uuid.uuid4()))
        threading.Timer(0.05, listening.cancel).start()
        self.assertEqual([event["type"] for event in listening], ["CONNECTED"])
        # The turn goes on at the server, and the next one waits for it.
        self.assertEqual(session.send("more please")["messages"][0]["text"], "Desk 2")
