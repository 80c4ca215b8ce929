/**
 * Reads server-sent events from the body of a response, as `{name, id, data}` with parsed data. `onBytes` is called whenever some have
 * arrived, also those of a comment.
 */
export async function* readEvents(body, onBytes) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let event = {};
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line.trim() !== '') addLine(event, line.replace(/\r$/, ''));
        else {
          if (event.data !== undefined) yield { name: event.event ?? 'message', id: event.id, data: JSON.parse(event.data) };
          event = {};
        }
      }
    }
  } finally {
    // Without it the connection stays open until the server ends the stream.
    reader.cancel().catch(() => {});
  }
}

function addLine(event, line) {
  const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
  event[field] = field === 'data' && event.data !== undefined ? `${event.data}\n${value}` : value;
}
