//! A text that is read, and the numbers in it.

use std::sync::Arc;

use crate::compiled_language::CompiledLanguage;
use crate::meaning::Meanings;
use crate::number_words::{ReadNumber, read_numbers};
use crate::token::Token;

/// A text with its tokens, and the language and the moment with which it is read.
pub(crate) struct Input {
    text: Arc<str>,
    pub tokens: Arc<[Token]>,
    pub language: &'static CompiledLanguage,
    pub meanings: Meanings,
    /// What has been read, by token.
    numbers: Vec<Option<Arc<[ReadNumber]>>>,
}

impl Input {
    /// Prepares to read the tokens of a text.
    pub fn new(text: &str, tokens: Vec<Token>, language: &'static CompiledLanguage, meanings: Meanings) -> Input {
        Input { text: text.into(), language, meanings, numbers: vec![None; tokens.len()], tokens: tokens.into() }
    }

    /// A token as it is written.
    pub fn written(&self, token: &Token) -> &str {
        self.text.get(token.range.clone()).unwrap_or_default()
    }

    /// The text from a token on.
    pub fn text_from(&self, token: &Token) -> &str {
        self.text.get(token.range.start..).unwrap_or_default()
    }

    /// The numbers that begin at a token, the longest first.
    pub fn numbers(&mut self, at: usize) -> Arc<[ReadNumber]> {
        if let Some(Some(known)) = self.numbers.get(at) {
            return known.clone();
        }
        let found: Arc<[ReadNumber]> = read_numbers(&self.tokens, at, self.language, self.meanings.marks).into();
        if let Some(place) = self.numbers.get_mut(at) {
            *place = Some(found.clone());
        }
        found
    }
}
