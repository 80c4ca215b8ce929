//! Pieces of an answer on their way to the listeners, without the secrets in them.

use crate::secrets::Secrets;
use crate::stream::Tokens;

/// What of an answer was said and is not shown yet.
#[derive(Debug)]
pub struct Deltas<'d> {
    tokens: &'d Tokens,
    secrets: &'d Secrets,
    held: String,
    begun: bool,
}

impl<'d> Deltas<'d> {
    /// Nothing is said yet.
    pub fn new(tokens: &'d Tokens, secrets: &'d Secrets) -> Self {
        Deltas { tokens, secrets, held: String::new(), begun: false }
    }

    /// An attempt begins; what an earlier one has shown is taken back.
    pub fn begin(&mut self) {
        self.held.clear();
        if self.begun {
            self.tokens.reset();
        }
        self.begun = true;
    }

    /// Shows a piece as far as no secret can be in it any more.
    pub fn push(&mut self, text: &str) {
        self.held.push_str(text);
        let rest = self.held.split_off(self.secrets.settled(&self.held));
        let shown = std::mem::replace(&mut self.held, rest);
        self.show(&shown);
    }

    /// Shows the rest of an answer that is complete.
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
