//! The position of a subscriber in a stream. Ensures that no event is delivered twice and detects gaps.

use std::sync::Arc;

use super::chunk::Span;

/// The position of a subscriber in its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The current or last turn; absent if no turn of the conversation had ended when the subscriber joined.
    turn: Option<Arc<str>>,
    /// The number of the next event.
    next: u32,
    /// Whether the subscriber may have joined during a turn, of which it then receives the rest.
    came: Came,
    /// Turns replayed from their journals, whose queued live events are duplicates.
    past: Vec<Arc<str>>,
}

/// When a subscriber joined, until it has received an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// The subscriber has received an event.
    Before,
    /// Any turn may have been running.
    Anytime,
    /// This turn was running, or none.
    During(Option<Arc<str>>),
}

/// Which events of a chunk a subscriber receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// All events after skipping this many.
    Without(u32),
    /// No events.
    Nothing,
    /// Events before the chunk are missing.
    Gap,
}

impl Heard {
    /// Creates a cursor after a turn that has ended, if any.
    pub fn nothing_since(turn: Option<Arc<str>>, came: Came) -> Heard {
        Heard { turn, next: u32::MAX, came, past: Vec::new() }
    }

    /// Creates a cursor after an event of a turn.
    pub fn up_to(turn: Arc<str>, seq: u32) -> Heard {
        Heard { turn: Some(turn), next: seq.saturating_add(1), came: Came::Before, past: Vec::new() }
    }

    /// The turn after or within which the stream continues.
    pub fn turn(&self) -> Option<&Arc<str>> {
        self.turn.as_ref()
    }

    /// Advances over live events; `again` is whether they are published again on request.
    pub fn live(&mut self, span: &Span, again: bool) -> Take {
        if self.past.contains(&span.turn) {
            return Take::Nothing;
        }
        if self.turn.as_ref() == Some(&span.turn) {
            return self.go_on(span, true);
        }
        let in_the_middle = match &self.came {
            Came::Before => false,
            Came::Anytime => true,
            Came::During(turn) => turn.as_ref() == Some(&span.turn),
        };
        match (in_the_middle, again, span.from) {
            // Replayed for another subscriber: this one did not request earlier events.
            (true, true, _) => Take::Nothing,
            (true, false, _) | (false, _, 0) => self.begin(span),
            (false, _, 1..) => Take::Gap,
        }
    }

    /// Advances over events replayed from a journal.
    pub fn replayed(&mut self, span: &Span) -> Take {
        if self.turn.as_ref() == Some(&span.turn) {
            return self.go_on(span, false);
        }
        self.past.extend(self.turn.take());
        self.begin(span)
    }

    fn begin(&mut self, span: &Span) -> Take {
        self.turn = Some(Arc::clone(&span.turn));
        self.next = span.until;
        self.came = Came::Before;
        Take::Without(0)
    }

    fn go_on(&mut self, span: &Span, dense: bool) -> Take {
        if span.until <= self.next {
            return Take::Nothing;
        }
        if dense && span.from > self.next {
            return Take::Gap;
        }
        let known = self.next.saturating_sub(span.from);
        self.next = span.until;
        self.came = Came::Before;
        Take::Without(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Take::{Gap, Nothing, Without};

    fn span(turn: &str, from: u32, until: u32) -> Span {
        Span { turn: Arc::from(turn), from, until }
    }

    #[test]
    fn nothing_is_heard_twice_and_a_gap_is_seen() {
        let mut cursor = Heard::up_to(Arc::from("a"), 4);
        for (turn, from, until, take) in [
            ("a", 0, 3, Nothing),
            ("a", 0, 7, Without(5)),
            ("a", 9, 10, Gap),
            ("a", 7, 10, Without(0)),
            ("b", 2, 4, Gap),
            ("b", 0, 4, Without(0)),
        ] {
            assert_eq!(cursor.live(&span(turn, from, until), false), take, "{turn} {from} {until}");
        }
    }

    #[test]
    fn what_was_told_from_journals_is_not_told_again() {
        let mut cursor = Heard::up_to(Arc::from("a"), 1);
        assert_eq!(cursor.replayed(&span("a", 0, 4)), Without(2));
        assert_eq!(cursor.replayed(&span("b", 0, 4)), Without(0));
        assert_eq!(cursor.replayed(&span("c", 0, 2)), Without(0), "part of a running turn");
        for (turn, from, until, take) in [("a", 2, 4, Nothing), ("b", 0, 4, Nothing), ("c", 1, 3, Without(1)), ("d", 0, 1, Without(0))] {
            assert_eq!(cursor.live(&span(turn, from, until), false), take, "{turn}");
        }
        // A single event replaces those that cannot be derived.
        let mut cursor = Heard::up_to(Arc::from("a"), 1);
        assert_eq!(cursor.replayed(&span("a", u32::MAX, u32::MAX)), Without(0));
        assert_eq!(cursor.replayed(&span("a", u32::MAX, u32::MAX)), Nothing);
    }

    #[test]
    fn who_comes_in_the_middle_of_a_turn_hears_the_rest() {
        let ended = || Some(Arc::from("a"));
        for came in [Came::Anytime, Came::During(Some(Arc::from("b")))] {
            let mut cursor = Heard::nothing_since(ended(), came);
            assert_eq!(cursor.live(&span("a", 3, 5), false), Nothing, "the turn had ended");
            assert_eq!(cursor.live(&span("b", 0, 5), true), Nothing, "requested by another subscriber");
            assert_eq!(cursor.live(&span("b", 5, 6), false), Without(0));
            assert_eq!(cursor.live(&span("b", 7, 8), false), Gap);
            assert_eq!(cursor.live(&span("b", 0, 8), true), Without(6));
        }
        let mut cursor = Heard::nothing_since(ended(), Came::During(None));
        assert_eq!(cursor.live(&span("b", 5, 6), false), Gap, "the turn began later");
        assert_eq!(cursor.live(&span("b", 0, 6), true), Without(0));
    }
}
