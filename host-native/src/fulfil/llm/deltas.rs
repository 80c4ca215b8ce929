//! Publishes the deltas of an answer to stream subscribers, without secrets.

use crate::secrets::Secrets;
use crate::stream::Tokens;

/// The publisher of one call's deltas; holds back text that may be the beginning of a secret.
#[derive(Debug)]
pub struct Deltas<'d> {
    tokens: &'d Tokens,
    secrets: &'d Secrets,
    held: String,
    begun: bool,
}

impl<'d> Deltas<'d> {
    /// Creates a publisher without text.
    pub fn new(tokens: &'d Tokens, secrets: &'d Secrets) -> Self {
        Deltas { tokens, secrets, held: String::new(), begun: false }
    }

    /// Begins an attempt; resets what an earlier one has published.
    pub fn begin(&mut self) {
        self.held.clear();
        if self.begun {
            self.tokens.reset();
        }
        self.begun = true;
    }

    /// Adds a delta and publishes the text that cannot be part of a secret.
    pub fn push(&mut self, text: &str) {
        self.held.push_str(text);
        let rest = self.held.split_off(self.secrets.settled(&self.held));
        let settled = std::mem::replace(&mut self.held, rest);
        self.show(&settled);
    }

    /// Publishes the rest of a complete answer.
    pub fn end(&mut self) {
        let rest = std::mem::take(&mut self.held);
        self.show(&rest);
    }

    fn show(&self, text: &str) {
        if !text.is_empty() {
            self.tokens.delta(&self.secrets.scrub(text));
        }
    }
}
