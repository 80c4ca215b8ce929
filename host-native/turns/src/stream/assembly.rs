//! Splits publications between processes into database notifications of limited size and reassembles them.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;

use super::chunk::{Chunk, EventRange};

/// Maximum bytes of events per notification: PostgreSQL accepts 7,999 including the header line.
const MAX_PART_BYTES: usize = 7_600;

/// The conversation field of a notification about dropped events.
const ALL_CONVERSATIONS: &str = "*";

/// What one process sends to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Publication {
    /// Events of a conversation.
    Events(String, Arc<Chunk>),
    /// Events of any conversation may be missing.
    EventsLost,
}

impl Publication {
    /// Size of the events in bytes.
    pub fn len(&self) -> usize {
        if let Publication::Events(_, chunk) = self { chunk.wire.len() } else { 0 }
    }

    /// Splits into notification payloads sent by a process.
    pub fn to_parts(&self, process: &str) -> Vec<String> {
        let Publication::Events(conversation, chunk) = self else { return vec![format!("{process} {ALL_CONVERSATIONS} - 0 0 - 0 1 -\n")] };
        let text = std::str::from_utf8(&chunk.wire).unwrap_or_default();
        let (turn, start, end) = chunk.range.as_ref().map_or(("-", 0, 0), |it| (&*it.turn, it.from, it.until));
        let kind = match (chunk.is_replay, chunk.is_last) {
            (true, _) => "again",
            (false, true) => "last",
            (false, false) => "-",
        };
        let owner = chunk.owner.as_deref().unwrap_or("-");
        let pieces = split_pieces(text);
        let count = pieces.len();
        let part = |(index, piece)| format!("{process} {conversation} {turn} {start} {end} {kind} {index} {count} {owner}\n{piece}");
        pieces.into_iter().enumerate().map(part).collect()
    }
}

fn split_pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > MAX_PART_BYTES {
        let (piece, rest) = text.split_at(text.floor_char_boundary(MAX_PART_BYTES));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// Reassembles publications of other processes, each of which sends the parts of a publication in order.
#[derive(Debug, Default)]
pub(super) struct PublicationAssembler {
    partials: HashMap<String, PartialPublication>,
}

#[derive(Debug)]
struct PartialPublication {
    next: usize,
    text: String,
}

impl PublicationAssembler {
    /// Adds a notification payload. Returns the publication that it completes, if any. Publications with a missing part are dropped, and
    /// their subscribers detect the gap.
    pub fn add_part(&mut self, this_process: &str, payload: &str, has_subscribers: impl FnOnce(&str) -> bool) -> Option<Publication> {
        let (head, text) = payload.split_once('\n')?;
        let words: Vec<&str> = head.split(' ').collect();
        let [process, conversation, turn, from, until, kind, index, count, owner] = words.as_slice() else { return None };
        if *process == this_process {
            return None;
        }
        if *conversation == ALL_CONVERSATIONS {
            return Some(Publication::EventsLost);
        }
        let (index, count): (usize, usize) = (index.parse().ok()?, count.parse().ok()?);
        if index == 0 {
            self.partials.remove(*process);
            if !has_subscribers(conversation) {
                return None;
            }
            self.partials.insert((*process).to_owned(), PartialPublication { next: 0, text: String::new() });
        }
        let partial = self.partials.get_mut(*process)?;
        if partial.next != index {
            self.partials.remove(*process);
            return None;
        }
        partial.next += 1;
        partial.text.push_str(text);
        if partial.next < count {
            return None;
        }
        let text = self.partials.remove(*process)?.text;
        let span = EventRange { turn: Arc::from(*turn), from: from.parse().ok()?, until: until.parse().ok()? };
        let span = (*turn != "-").then_some(span);
        let owner = (*owner != "-").then(|| Arc::from(*owner));
        let (is_replay, is_last) = (*kind == "again", *kind == "last");
        let chunk = Chunk { range: span, wire: Bytes::from(text), is_replay, is_last, without_progress: false, owner };
        Some(Publication::Events((*conversation).to_owned(), Arc::new(chunk)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(wire: &str) -> Publication {
        let chunk = Chunk::for_turn(&Arc::from("t"), 3, 9, wire.to_owned());
        Publication::Events("c".to_owned(), Arc::new(chunk.into_last().with_owner(Some(&Arc::from("ada")))))
    }

    #[test]
    fn long_publications_are_split_and_reassembled() {
        let long = events(&"\n ü🙂".repeat(5_000));
        let parts = long.to_parts("p");
        assert!(parts.len() > 4 && parts.iter().all(|part| part.len() < 7_999), "{}", parts.len());
        let mut assembly = PublicationAssembler::default();
        // Another process publishes at the same time.
        let short = events("").to_parts("q");
        let mut found: Vec<Publication> = Vec::new();
        for part in parts.iter().take(2).chain(&short).chain(&parts[2..]) {
            found.extend(assembly.add_part("me", part, |_| true));
        }
        assert_eq!(found, [events(""), long]);
        assert!(assembly.partials.is_empty());
    }

    #[test]
    fn broken_own_and_unsubscribed_parts_are_ignored() {
        let parts = events(&"x".repeat(20_000)).to_parts("p");
        for missing in 0..parts.len() {
            let mut assembly = PublicationAssembler::default();
            let rest = parts.iter().enumerate().filter(|it| it.0 != missing).map(|it| it.1);
            assert_eq!(rest.filter_map(|part| assembly.add_part("me", part, |_| true)).count(), 0, "{missing}");
        }
        let mut assembly = PublicationAssembler::default();
        assert!(parts.iter().all(|part| assembly.add_part("p", part, |_| true).is_none()), "own notifications");
        assert!(parts.iter().all(|part| assembly.add_part("me", part, |_| false).is_none()), "no subscribers");
        for garbage in ["", "\n", "a b\n", "p c t 0 1 - 0 1\n", "p c t x y - 0 1 -\n", "p c t 0 1 - 7 1 -\n"] {
            assert_eq!(assembly.add_part("me", garbage, |_| true), None, "{garbage:?}");
        }
        let lost: Vec<String> = Publication::EventsLost.to_parts("p");
        assert_eq!(assembly.add_part("me", &lost[0], |_| false), Some(Publication::EventsLost));
    }
}
