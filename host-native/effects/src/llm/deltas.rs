//! Publishes the deltas of an answer to stream subscribers, without secrets.

use convengine_core::text::reasoning::ReasoningSplitter;
use convengine_settings::secrets::Secrets;

use crate::OutputSink;

/// The publisher of one call's deltas; holds back text that may be the beginning of a secret.
#[derive(Debug)]
pub struct DeltaPublisher<'d> {
    tokens: &'d dyn OutputSink,
    secrets: &'d Secrets,
    pending: String,
    has_started: bool,
    /// How many bytes of the answer were taken.
    taken: usize,
    /// How many bytes of an earlier one were withdrawn.
    withdrawn: usize,
}

impl<'d> DeltaPublisher<'d> {
    /// Creates a publisher without text.
    pub fn new(tokens: &'d dyn OutputSink, secrets: &'d Secrets) -> Self {
        DeltaPublisher { tokens, secrets, pending: String::new(), has_started: false, taken: 0, withdrawn: 0 }
    }

    /// Begins an attempt; resets what an earlier one has published.
    pub fn begin_attempt(&mut self) {
        self.pending.clear();
        if self.has_started {
            self.tokens.send_reset();
        }
        self.has_started = true;
        (self.taken, self.withdrawn) = (0, 0);
    }

    /// Publishes what is new of an answer. If it turned out to be thoughts, what was published is reset.
    pub fn follow(&mut self, answer: &ReasoningSplitter) {
        if self.withdrawn != answer.withdrawn() {
            self.begin_attempt();
            self.withdrawn = answer.withdrawn();
        }
        let new = answer.answer().get(self.taken..).unwrap_or_default();
        self.taken = answer.answer().len();
        self.push(new);
    }

    /// Adds a delta and publishes the text that cannot be part of a secret.
    fn push(&mut self, text: &str) {
        self.pending.push_str(text);
        let rest = self.pending.split_off(self.secrets.settled_len(&self.pending));
        let settled = std::mem::replace(&mut self.pending, rest);
        self.publish(&settled);
    }

    /// Publishes the rest of a complete answer.
    pub fn finish(&mut self) {
        let rest = std::mem::take(&mut self.pending);
        self.publish(&rest);
    }

    fn publish(&self, text: &str) {
        if !text.is_empty() {
            self.tokens.send_delta(&self.secrets.scrub(text));
        }
    }
}
