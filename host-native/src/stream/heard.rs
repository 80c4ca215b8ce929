//! What one listener has heard, by which nothing reaches it twice, and a gap is seen.

use std::sync::Arc;

use super::chunk::Span;

/// The place of a listener in its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The turn that it hears or has heard last; without one, no turn of the conversation had ended when it came.
    turn: Option<Arc<str>>,
    /// The number of the event that it hears next.
    next: u32,
    /// Whether it may have come in the middle of a turn, of which it then hears the rest.
    came: Came,
    /// Turns that it was told from their journals: what is still on its way of them is known.
    past: Vec<Arc<str>>,
}

/// When a listener came, until it has heard something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Came {
    /// It has heard something.
    Before,
    /// While any turn may have been running.
    Anytime,
    /// While this turn was running, or none.
    During(Option<Arc<str>>),
}

/// What of a chunk a listener hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// All but so many events at its beginning.
    Without(u32),
    /// Nothing.
    Nothing,
    /// Something before it is missing.
    Gap,
}

impl Heard {
    /// Of one who comes after a turn that has ended, when there is one.
    pub fn nothing_since(turn: Option<Arc<str>>, came: Came) -> Heard {
        Heard { turn, next: u32::MAX, came, past: Vec::new() }
    }

    /// Of one who has heard an event of a turn.
    pub fn up_to(turn: Arc<str>, seq: u32) -> Heard {
        Heard { turn: Some(turn), next: seq.saturating_add(1), came: Came::Before, past: Vec::new() }
    }

    /// The turn after which, or within which, it goes on.
    pub fn turn(&self) -> Option<&Arc<str>> {
        self.turn.as_ref()
    }

    /// Takes what is told as it happens.
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
            // It has not asked for what was before.
            (true, true, _) => Take::Nothing,
            (true, false, _) | (false, _, 0) => self.begin(span),
            (false, _, 1..) => Take::Gap,
        }
    }

    /// Takes what is told from a journal.
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
        let mut heard = Heard::up_to(Arc::from("a"), 4);
        for (turn, from, until, take) in [
            ("a", 0, 3, Nothing),
            ("a", 0, 7, Without(5)),
            ("a", 9, 10, Gap),
            ("a", 7, 10, Without(0)),
            ("b", 2, 4, Gap),
            ("b", 0, 4, Without(0)),
        ] {
            assert_eq!(heard.live(&span(turn, from, until), false), take, "{turn} {from} {until}");
        }
    }

    #[test]
    fn what_was_told_from_journals_is_not_told_again() {
        let mut heard = Heard::up_to(Arc::from("a"), 1);
        assert_eq!(heard.replayed(&span("a", 0, 4)), Without(2));
        assert_eq!(heard.replayed(&span("b", 0, 4)), Without(0));
        assert_eq!(heard.replayed(&span("c", 0, 2)), Without(0), "a part of one that still runs");
        for (turn, from, until, take) in [("a", 2, 4, Nothing), ("b", 0, 4, Nothing), ("c", 1, 3, Without(1)), ("d", 0, 1, Without(0))] {
            assert_eq!(heard.live(&span(turn, from, until), false), take, "{turn}");
        }
        // One event in the place of all that cannot be derived.
        let mut heard = Heard::up_to(Arc::from("a"), 1);
        assert_eq!(heard.replayed(&span("a", u32::MAX, u32::MAX)), Without(0));
        assert_eq!(heard.replayed(&span("a", u32::MAX, u32::MAX)), Nothing);
    }

    #[test]
    fn who_comes_in_the_middle_of_a_turn_hears_the_rest() {
        let ended = || Some(Arc::from("a"));
        for came in [Came::Anytime, Came::During(Some(Arc::from("b")))] {
            let mut heard = Heard::nothing_since(ended(), came);
            assert_eq!(heard.live(&span("a", 3, 5), false), Nothing, "it had ended");
            assert_eq!(heard.live(&span("b", 0, 5), true), Nothing, "another has asked for it");
            assert_eq!(heard.live(&span("b", 5, 6), false), Without(0));
            assert_eq!(heard.live(&span("b", 7, 8), false), Gap);
            assert_eq!(heard.live(&span("b", 0, 8), true), Without(6));
        }
        let mut heard = Heard::nothing_since(ended(), Came::During(None));
        assert_eq!(heard.live(&span("b", 5, 6), false), Gap, "it began later");
        assert_eq!(heard.live(&span("b", 0, 6), true), Without(0));
    }
}
