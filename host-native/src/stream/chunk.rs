//! Events as they are handed to listeners: rendered together, and cut apart where one of them is known already.

use std::sync::Arc;

use axum::body::Bytes;

/// Events that come together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where they stand in their turn; absent for events without an id.
    pub span: Option<Span>,
    /// The events as they go over the wire.
    pub wire: Bytes,
    /// Whether they are told again, for somebody who has missed some of them.
    pub again: bool,
    /// Whether the turn has no more.
    pub last: bool,
}

/// Events of a turn that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The turn.
    pub turn: Arc<str>,
    /// The number of the first.
    pub from: u32,
    /// The number after that of the last.
    pub until: u32,
}

impl Chunk {
    /// Events without an id.
    pub fn loose(wire: String) -> Chunk {
        Chunk { span: None, wire: Bytes::from(wire), again: false, last: false }
    }

    /// Events of a turn.
    pub fn of(turn: &Arc<str>, from: usize, until: usize, wire: String) -> Chunk {
        let number = |it| u32::try_from(it).unwrap_or(u32::MAX);
        let span = Span { turn: Arc::clone(turn), from: number(from), until: number(until) };
        Chunk { span: Some(span), wire: Bytes::from(wire), again: false, last: false }
    }

    /// The same as the turn's last.
    #[must_use]
    pub fn ending(self) -> Chunk {
        Chunk { last: true, ..self }
    }

    /// How many events it holds.
    pub fn count(&self) -> usize {
        self.wire.windows(2).filter(|it| it == b"\n\n").count()
    }

    /// The events without so many at the beginning.
    pub fn without(&self, count: u32) -> Bytes {
        let mut at = 0;
        for _ in 0..count {
            // An event has no line break but those between its lines.
            let rest = self.wire.get(at..).unwrap_or_default();
            at = rest.windows(2).position(|it| it == b"\n\n").map_or(self.wire.len(), |it| at + it + 2);
        }
        self.wire.slice(at..)
    }
}

/// One event of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'w> {
    /// `turn:seq`, when it has one.
    pub id: Option<&'w str>,
    /// Its name.
    pub name: &'w str,
    /// Its JSON text.
    pub data: &'w str,
}

/// The events of what goes over the wire.
pub fn events(wire: &str) -> impl Iterator<Item = Event<'_>> {
    wire.split_terminator("\n\n").map(|lines| {
        let field = |name: &str| lines.lines().find_map(|it| it.strip_prefix(name));
        Event { id: field("id:"), name: field("event:").unwrap_or_default(), data: field("data:").unwrap_or_default() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_cut_and_taken_apart_between_events() {
        let wire = "id:t:3\nevent:A\ndata:{\"a\":\"\\n\\n\"}\n\nevent:B\ndata:1\n\n";
        let chunk = Chunk::of(&Arc::from("t"), 3, 5, wire.to_owned());
        assert_eq!(chunk.count(), 2);
        let rest: Vec<Bytes> = (0..4).map(|it| chunk.without(it)).collect();
        assert_eq!(rest, [wire, "event:B\ndata:1\n\n", "", ""].map(Bytes::from));
        let found: Vec<Event<'_>> = events(wire).collect();
        let event = |id, name, data| Event { id, name, data };
        assert_eq!(found, [event(Some("t:3"), "A", "{\"a\":\"\\n\\n\"}"), event(None, "B", "1")]);
    }
}
