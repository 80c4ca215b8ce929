//! Splits publications between processes into database notifications of limited size and reassembles them.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;

use super::chunk::{Chunk, Span};

/// Maximum bytes of events per notification: PostgreSQL accepts 7,999 including the header line.
const ROOM: usize = 7_600;

/// The conversation field of a notification about dropped events.
const EVERYTHING: &str = "*";

/// What one process sends to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Telling {
    /// Events of a conversation.
    Events(String, Arc<Chunk>),
    /// Events of any conversation may be missing.
    Lost,
}

impl Telling {
    /// Size of the events in bytes.
    pub fn len(&self) -> usize {
        if let Telling::Events(_, chunk) = self { chunk.wire.len() } else { 0 }
    }

    /// Splits into notification payloads sent by a process.
    pub fn parts(&self, process: &str) -> Vec<String> {
        let Telling::Events(conversation, chunk) = self else { return vec![format!("{process} {EVERYTHING} - 0 0 - 0 1\n")] };
        let text = std::str::from_utf8(&chunk.wire).unwrap_or_default();
        let (turn, start, end) = chunk.span.as_ref().map_or(("-", 0, 0), |it| (&*it.turn, it.from, it.until));
        let kind = match (chunk.again, chunk.last) {
            (true, _) => "again",
            (false, true) => "last",
            (false, false) => "-",
        };
        let pieces = pieces(text);
        let count = pieces.len();
        let part = |(index, piece)| format!("{process} {conversation} {turn} {start} {end} {kind} {index} {count}\n{piece}");
        pieces.into_iter().enumerate().map(part).collect()
    }
}

fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > ROOM {
        let (piece, rest) = text.split_at(text.floor_char_boundary(ROOM));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// Reassembles publications of other processes, each of which sends the parts of a publication in order.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    begun: HashMap<String, Begun>,
}

#[derive(Debug)]
struct Begun {
    next: usize,
    text: String,
}

impl Assembly {
    /// Adds a notification payload. Returns the publication that it completes, if any. Publications with a missing part are dropped, and
    /// their subscribers detect the gap.
    pub fn take(&mut self, this_process: &str, payload: &str, has_subscribers: impl FnOnce(&str) -> bool) -> Option<Telling> {
        let (head, text) = payload.split_once('\n')?;
        let words: Vec<&str> = head.split(' ').collect();
        let [process, conversation, turn, from, until, kind, index, count] = words.as_slice() else { return None };
        if *process == this_process {
            return None;
        }
        if *conversation == EVERYTHING {
            return Some(Telling::Lost);
        }
        let (index, count): (usize, usize) = (index.parse().ok()?, count.parse().ok()?);
        if index == 0 {
            self.begun.remove(*process);
            if !has_subscribers(conversation) {
                return None;
            }
            self.begun.insert((*process).to_owned(), Begun { next: 0, text: String::new() });
        }
        let partial = self.begun.get_mut(*process)?;
        if partial.next != index {
            self.begun.remove(*process);
            return None;
        }
        partial.next += 1;
        partial.text.push_str(text);
        if partial.next < count {
            return None;
        }
        let text = self.begun.remove(*process)?.text;
        let span = Span { turn: Arc::from(*turn), from: from.parse().ok()?, until: until.parse().ok()? };
        let span = (*turn != "-").then_some(span);
        let chunk = Chunk { span, wire: Bytes::from(text), again: *kind == "again", last: *kind == "last" };
        Some(Telling::Events((*conversation).to_owned(), Arc::new(chunk)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(wire: &str) -> Telling {
        let chunk = Chunk::of(&Arc::from("t"), 3, 9, wire.to_owned());
        Telling::Events("c".to_owned(), Arc::new(chunk.ending()))
    }

    #[test]
    fn long_events_come_in_parts_and_are_put_together() {
        let long = events(&"\n ü🙂".repeat(5_000));
        let parts = long.parts("p");
        assert!(parts.len() > 4 && parts.iter().all(|it| it.len() < 7_999), "{}", parts.len());
        let mut assembly = Assembly::default();
        // Another process publishes at the same time.
        let short = events("").parts("q");
        let mut found: Vec<Telling> = Vec::new();
        for part in parts.iter().take(2).chain(&short).chain(&parts[2..]) {
            found.extend(assembly.take("me", part, |_| true));
        }
        assert_eq!(found, [events(""), long]);
        assert!(assembly.begun.is_empty());
    }

    #[test]
    fn of_what_is_broken_foreign_or_unheard_nothing_comes() {
        let parts = events(&"x".repeat(20_000)).parts("p");
        for missing in 0..parts.len() {
            let mut assembly = Assembly::default();
            let rest = parts.iter().enumerate().filter(|it| it.0 != missing).map(|it| it.1);
            assert_eq!(rest.filter_map(|it| assembly.take("me", it, |_| true)).count(), 0, "{missing}");
        }
        let mut assembly = Assembly::default();
        assert!(parts.iter().all(|it| assembly.take("p", it, |_| true).is_none()), "own notifications");
        assert!(parts.iter().all(|it| assembly.take("me", it, |_| false).is_none()), "no subscribers");
        for garbage in ["", "\n", "a b\n", "p c t x y - 0 1\n", "p c t 0 1 - 7 1\n"] {
            assert_eq!(assembly.take("me", garbage, |_| true), None, "{garbage:?}");
        }
        let lost: Vec<String> = Telling::Lost.parts("p");
        assert_eq!(assembly.take("me", &lost[0], |_| false), Some(Telling::Lost));
    }
}
