//! Chunks of rendered events as delivered to subscribers, which can be cut after events that a subscriber already has.

use std::sync::Arc;

use axum::body::Bytes;

/// Events that are delivered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The position of the events in their turn; absent for events without id.
    pub range: Option<EventRange>,
    /// The rendered events.
    pub wire: Bytes,
    /// Whether the events are published again for a subscriber that missed some.
    pub is_replay: bool,
    /// Whether these are the last events of the turn.
    pub is_last: bool,
    /// Whether progress texts are left out: they say what a turn does, and the turn has ended.
    pub without_progress: bool,
    /// The owner of the conversation, if any; other callers do not receive the events.
    pub owner: Option<Arc<str>>,
}

/// A range of consecutive events of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRange {
    /// The turn.
    pub turn: Arc<str>,
    /// The number of the first event.
    pub from: u32,
    /// The number after the last event.
    pub until: u32,
}

impl Chunk {
    /// Creates a chunk of events without ids.
    pub fn new_unnumbered(wire: String) -> Chunk {
        Chunk { range: None, wire: Bytes::from(wire), is_replay: false, is_last: false, without_progress: false, owner: None }
    }

    /// Creates a chunk of events of a turn.
    pub fn for_turn(turn: &Arc<str>, from: usize, until: usize, wire: String) -> Chunk {
        let number = |position| u32::try_from(position).unwrap_or(u32::MAX);
        let span = EventRange { turn: Arc::clone(turn), from: number(from), until: number(until) };
        Chunk { range: Some(span), wire: Bytes::from(wire), is_replay: false, is_last: false, without_progress: false, owner: None }
    }

    /// Marks the chunk as the last of its turn.
    #[must_use]
    pub fn into_last(self) -> Chunk {
        Chunk { is_last: true, ..self }
    }

    /// Leaves out progress texts.
    #[must_use]
    pub fn into_replay_of_ended(self) -> Chunk {
        Chunk { without_progress: true, ..self }
    }

    /// Sets the owner of the conversation.
    #[must_use]
    pub fn with_owner(self, owner: Option<&Arc<str>>) -> Chunk {
        Chunk { owner: owner.cloned(), ..self }
    }

    /// The number of events.
    pub fn event_count(&self) -> usize {
        self.wire.windows(2).filter(|it| it == b"\n\n").count()
    }

    /// The events after skipping the first `count`.
    pub fn skip_events(&self, count: u32) -> Bytes {
        let mut offset = 0;
        for _ in 0..count {
            // Events contain no line breaks other than those between their lines.
            let rest = self.wire.get(offset..).unwrap_or_default();
            offset = rest.windows(2).position(|it| it == b"\n\n").map_or(self.wire.len(), |end| offset + end + 2);
        }
        let rest = self.wire.slice(offset..);
        if self.without_progress { remove_progress(&rest) } else { rest }
    }
}

/// Removes the events of progress texts.
fn remove_progress(wire: &Bytes) -> Bytes {
    let text = std::str::from_utf8(wire).unwrap_or_default();
    let kept = text.split_inclusive("\n\n").filter(|event| !event.lines().any(|line| line == "event:VERBOSE"));
    Bytes::from(kept.collect::<String>())
}

/// One event of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamEvent<'w> {
    /// The id `turn:seq`, if any.
    pub id: Option<&'w str>,
    /// The event name.
    pub name: &'w str,
    /// The JSON data.
    pub data: &'w str,
}

/// Parses rendered events.
pub fn parse_events(wire: &str) -> impl Iterator<Item = StreamEvent<'_>> {
    wire.split_terminator("\n\n").map(|lines| {
        let field = |name: &str| lines.lines().find_map(|it| it.strip_prefix(name));
        StreamEvent { id: field("id:"), name: field("event:").unwrap_or_default(), data: field("data:").unwrap_or_default() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_split_between_events() {
        let wire = "id:t:3\nevent:A\ndata:{\"a\":\"\\n\\n\"}\n\nevent:B\ndata:1\n\n";
        let chunk = Chunk::for_turn(&Arc::from("t"), 3, 5, wire.to_owned());
        assert_eq!(chunk.event_count(), 2);
        let rest: Vec<Bytes> = (0..4).map(|it| chunk.skip_events(it)).collect();
        assert_eq!(rest, [wire, "event:B\ndata:1\n\n", "", ""].map(Bytes::from));
        let ended = Chunk::for_turn(&Arc::from("t"), 3, 6, format!("id:t:3\nevent:VERBOSE\ndata:0\n\n{wire}")).into_replay_of_ended();
        assert_eq!([ended.skip_events(0), ended.skip_events(1)], [wire, wire].map(Bytes::from));
        let found: Vec<StreamEvent<'_>> = parse_events(wire).collect();
        let event = |id, name, data| StreamEvent { id, name, data };
        assert_eq!(found, [event(Some("t:3"), "A", "{\"a\":\"\\n\\n\"}"), event(None, "B", "1")]);
    }
}
