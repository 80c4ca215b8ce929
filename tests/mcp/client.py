"""Drives the server with the Python SDK of the protocol, over HTTP and over standard input and output, in the newest revision and the one
before it."""

import asyncio
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

BINARY = os.environ.get("CONVENGINE", "convengine")
HERE = Path(__file__).parent
PACK = json.loads((HERE / "pack.json").read_text())
DOCUMENT = json.loads((HERE / "document.json").read_text())
SETTINGS = ["--set", "convengine.flow.dialogueAct.resolute=REGEX_ONLY"]
TALK = "config orders.json\n\n> my order\n< Your order is on its way.\n"
REVISIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}

counts = {"passed": 0, "failed": 0}


def check(name, is_met, found=None):
    counts["passed" if is_met else "failed"] += 1
    if not is_met:
        print(f"FAILED {name}: {found}")


def run(*arguments):
    return subprocess.run([BINARY, *arguments], check=True, capture_output=True, text=True).stdout


class Database:
    """A temporary database with the pack."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="convengine-mcp-")
        self.url = f"sqlite:{self.folder}/test.db"
        run("import", str(HERE / "pack.json"), "--database", self.url)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


class Server:
    """A running server that needs a key, with a published assistant."""

    def __init__(self, database):
        self.key = run("key", "create", "--name", "test", "--scope", "admin", "--database", database.url).strip()
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", "--database", database.url, "--set", "convengine.security.mode=keys", *SETTINGS]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip().removeprefix("convengine listening on ")
        self.send("PUT", f"/v1/agents/{DOCUMENT['id']}/flow", DOCUMENT)
        self.send("POST", f"/v1/agents/{DOCUMENT['id']}/publish", {})

    def send(self, method, path, body):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), headers, method=method)
        urllib.request.urlopen(request).close()

    def stop(self):
        self.process.terminate()
        self.process.wait()


def texts(result):
    return [it.text for it in result.content]


async def drive(client, name, mode):
    """What is the same over both transports and in both revisions."""
    check(f"{name} revision", client.protocol_version == REVISIONS[mode], client.protocol_version)
    check(f"{name} server", client.server_info.name == "convengine", client.server_info)
    tools = [it.name for it in (await client.list_tools()).tools]
    check(f"{name} tools", {"lint", "import", "play", "replay", "explain_turn", "compare", "ask_tables"} <= set(tools), tools)

    first = await client.call_tool("ask_tables", {"text": "where is my order?"})
    check(f"{name} ask", texts(first) == ["Your order is on its way."], first)
    conversation = first.structured_content["conversation_id"]
    second = await client.call_tool("ask_tables", {"text": "hello", "conversation_id": conversation})
    check(f"{name} continue", texts(second) == ["Ask me about orders."], second)
    check(f"{name} same conversation", second.structured_content["conversation_id"] == conversation, second)

    explained = await client.call_tool("explain_turn", {"conversation_id": conversation, "turn": 1})
    check(f"{name} explain", len(explained.structured_content["explanations"]) > 0, explained)
    replayed = await client.call_tool("replay", {"conversation_id": conversation})
    check(f"{name} replay", replayed.structured_content["equal"] is True, replayed)

    changed = copy.deepcopy(PACK)
    changed["tables"]["ce_response"][0]["exact_text"] = "Tomorrow."
    compared = await client.call_tool("compare", {"conversation_id": conversation, "config": changed})
    check(f"{name} compare", [it["equal"] for it in compared.structured_content["turns"]] == [False, True], compared)
    linted = await client.call_tool("lint", {"pack": changed})
    check(f"{name} lint", linted.structured_content["has_errors"] is False, linted)
    played = await client.call_tool("play", {"talk": TALK, "pack": PACK})
    check(f"{name} play", played.structured_content["passed"] is True, played)
    dry = await client.call_tool("import", {"pack": changed})
    check(f"{name} dry run", dry.structured_content["imported"] is False, dry)
    check(f"{name} nothing changed", texts(await client.call_tool("ask_tables", {"text": "my order"})) == ["Your order is on its way."])
    imported = await client.call_tool("import", {"pack": changed, "dry_run": False})
    check(f"{name} import", imported.structured_content["imported"] is True, imported)
    check(f"{name} changed", texts(await client.call_tool("ask_tables", {"text": "my order"})) == ["Tomorrow."])
    restored = await client.call_tool("import", {"pack": PACK, "dry_run": False})
    check(f"{name} restored", restored.structured_content["imported"] is True, restored)
    refused = await client.call_tool("ask_tables", {})
    check(f"{name} error", refused.is_error and "text is missing" in texts(refused)[0], refused)
    try:
        await client.call_tool("no_such_tool", {})
        check(f"{name} unknown tool", False)
    except MCPError as error:
        check(f"{name} unknown tool", error.error.code == -32602, error)

    resources = [str(it.uri) for it in (await client.list_resources()).resources]
    check(f"{name} resources", {"convengine://reference/packs", "convengine://issues"} <= set(resources), resources)
    templates = (await client.list_resource_templates()).resource_templates
    check(f"{name} templates", len(templates) == 4, templates)
    journal = await client.read_resource(f"convengine://conversations/{conversation}/journal")
    check(f"{name} journal", len(json.loads(journal.contents[0].text)["turns"]) == 2, journal)
    prompt = await client.get_prompt("write_pack", {"purpose": "sells tea"})
    check(f"{name} prompt", "sells tea" in prompt.messages[0].content.text, prompt)


async def over_http(server, mode):
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {server.key}"})
    async with http, Client(streamable_http_client(f"{server.address}/mcp", http_client=http), mode=mode) as client:
        welcome = await client.call_tool("ask_front", {"text": "hello"})
        check(f"http {mode} assistant", texts(welcome) == ["Welcome.", "Say that in other words."], welcome)
        session = welcome.structured_content["session_id"]
        again = await client.call_tool("ask_front", {"text": "hello", "session_id": session})
        check(f"http {mode} session", texts(again) == ["Say that in other words."], again)
        await drive(client, f"http {mode}", mode)


async def over_stdio(database, mode):
    parameters = StdioServerParameters(command=BINARY, args=["mcp", "--database", database.url, *SETTINGS])
    async with Client(parameters, mode=mode) as client:
        await drive(client, f"stdio {mode}", mode)


async def main():
    with Database() as database:
        server = Server(database)
        for mode in REVISIONS:
            await over_http(server, mode)
        server.stop()
    with Database() as database:
        for mode in REVISIONS:
            await over_stdio(database, mode)
    print(f"Python SDK: {sum(counts.values())} checks")
    result = "FAILED" if counts["failed"] else "ok"
    print(f"test result: {result}. {counts['passed']} passed; {counts['failed']} failed; 0 ignored; 0 measured; 0 filtered out")
    return 1 if counts["failed"] else 0


sys.exit(asyncio.run(main()))
