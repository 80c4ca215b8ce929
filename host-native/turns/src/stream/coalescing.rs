//! Joins the tokens of model output for other processes, so that not each of them is a notification.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::assembly::Publication;
use super::chunk::Chunk;

/// How long a token waits for others.
const FLUSH_AFTER: Duration = Duration::from_millis(50);

/// The size in bytes from which tokens are sent at once.
const FLUSH_BYTES: usize = 4_096;

/// The events without numbers that wait to be sent, by conversation.
#[derive(Debug, Default)]
pub(super) struct TokenBuffer(BTreeMap<String, WaitingTokens>);

#[derive(Debug)]
struct WaitingTokens {
    wire: String,
    owner: Option<Arc<str>>,
    flush_at: Instant,
}

impl TokenBuffer {
    /// When the next tokens are to be sent.
    pub fn next_flush(&self) -> Option<Instant> {
        self.0.values().map(|it| it.flush_at).min()
    }

    /// Adds a publication. Returns what is to be sent now: nothing for tokens that can wait; for others the waiting tokens of the conversation
    /// and then the publication.
    pub fn push(&mut self, publication: Publication) -> Vec<Publication> {
        match publication {
            Publication::Events(conversation, chunk) if chunk.range.is_none() && !chunk.is_replay => {
                let flush_at = Instant::now() + FLUSH_AFTER;
                let new = || WaitingTokens { wire: String::new(), owner: chunk.owner.clone(), flush_at };
                let waiting = self.0.entry(conversation.clone()).or_insert_with(new);
                waiting.wire.push_str(std::str::from_utf8(&chunk.wire).unwrap_or_default());
                if waiting.wire.len() >= FLUSH_BYTES { self.take(&conversation).into_iter().collect() } else { Vec::new() }
            }
            Publication::Events(conversation, chunk) => {
                let before = self.take(&conversation);
                before.into_iter().chain([Publication::Events(conversation, chunk)]).collect()
            }
            Publication::EventsLost => self.take_all().into_iter().chain([Publication::EventsLost]).collect(),
        }
    }

    /// Takes the tokens that have waited long enough.
    pub fn take_due(&mut self) -> Vec<Publication> {
        let now = Instant::now();
        let due: Vec<String> = self.0.iter().filter(|it| it.1.flush_at <= now).map(|it| it.0.clone()).collect();
        due.iter().filter_map(|it| self.take(it)).collect()
    }

    /// Takes all tokens.
    pub fn take_all(&mut self) -> Vec<Publication> {
        std::mem::take(&mut self.0).into_iter().map(|(conversation, it)| to_publication(conversation, it)).collect()
    }

    fn take(&mut self, conversation: &str) -> Option<Publication> {
        self.0.remove_entry(conversation).map(|(conversation, it)| to_publication(conversation, it))
    }
}

fn to_publication(conversation: String, waiting: WaitingTokens) -> Publication {
    Publication::Events(conversation, Arc::new(Chunk::new_unnumbered(waiting.wire).with_owner(waiting.owner.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(conversation: &str, text: &str) -> Publication {
        let owner = Arc::from(format!("owner of {conversation}"));
        Publication::Events(conversation.to_owned(), Arc::new(Chunk::new_unnumbered(text.to_owned()).with_owner(Some(&owner))))
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_wait_for_others_and_keep_their_order() {
        let mut buffer = TokenBuffer::default();
        assert_eq!(buffer.next_flush(), None);
        for (conversation, text) in [("a", "1"), ("b", "x"), ("a", "2")] {
            assert_eq!(buffer.push(token(conversation, text)), []);
        }
        assert_eq!(buffer.take_due(), []);
        // Events with numbers of a conversation follow its tokens at once.
        let events = Publication::Events("a".to_owned(), Arc::new(Chunk::for_turn(&Arc::from("t"), 0, 1, "e".to_owned())));
        assert_eq!(buffer.push(events.clone()), [token("a", "12"), events]);
        tokio::time::advance(FLUSH_AFTER).await;
        assert_eq!(buffer.push(token("a", "3")), []);
        assert_eq!(buffer.take_due(), [token("b", "x")], "the other has just begun to wait");
        let long = "y".repeat(FLUSH_BYTES);
        assert_eq!(buffer.push(token("a", &long)), [token("a", &format!("3{long}"))]);
        buffer.push(token("c", "z"));
        assert_eq!(buffer.push(Publication::EventsLost), [token("c", "z"), Publication::EventsLost]);
        assert_eq!(buffer.next_flush(), None);
    }
}
