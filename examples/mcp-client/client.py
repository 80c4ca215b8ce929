"""A client of the Model Context Protocol with nothing but Python's standard library: it starts `convengine mcp`, lists its tools, and lets
them check, test, import and ask a pack, as an assistant in an editor does.

Run it with `python3 client.py sqlite:shop.db`.
"""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


class Client:
    """A connection to a server that reads standard input and writes standard output, one JSON message a line."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.last_id = 0

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            # Notifications, such as that the list of tools has changed, may come in between.
            if message.get("id") == self.last_id:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]
        raise RuntimeError("the server has ended")

    def call(self, tool, **arguments):
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return result["structuredContent"]

    def close(self):
        """Ends the server, which stops when its input ends."""
        self.process.stdin.close()
        self.process.wait()


def main(database):
    client = Client(["convengine", "mcp", "--database", database])
    try:
        identity = {"name": "example", "version": "1"}
        server = client.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": identity})
        client.send({"method": "notifications/initialized"})
        print(f"server: {server['serverInfo']['name']}, protocol {server['protocolVersion']}")
        print("tools:", ", ".join(tool["name"] for tool in client.request("tools/list", {})["tools"]))
        pack = json.loads((FOLDER / "shop.json").read_text(encoding="utf-8"))
        talk = (FOLDER / "shop.talk").read_text(encoding="utf-8")
        print("lint finds", client.call("lint", pack=pack)["issues"])
        played = client.call("play", pack=pack, talk=talk)
        print(f"play: {played['played']} turns, differences {played['failed']}")
        # Without `dry_run` false, an import only says what it would change.
        print("import:", client.call("import", pack=pack, dry_run=False)["next"])
        print("ask_tables:", client.call("ask_tables", text="Where is my order?")["messages"][0]["text"])
    finally:
        client.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:shop.db")
