//! What models say while they say it, as far as a caller was shown it.

use std::collections::BTreeMap;

/// The parts that were shown and that no message has come for.
#[derive(Debug, Default)]
pub struct Pieces {
    parts: Vec<Part>,
    /// How many parts each effect has begun.
    begun: BTreeMap<u32, usize>,
}

/// What was shown of one answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The effect that the model answers.
    pub effect: u32,
    /// The name of the part; one that was taken back and is written again has another.
    pub id: String,
    text: String,
    /// Whether it is shown; a blank beginning is not, because nothing may follow that is said.
    is_shown: bool,
    /// Whether the answer is complete, so that its message comes next.
    is_complete: bool,
}

/// What there is to show of a piece.
#[derive(Debug, PartialEq, Eq)]
pub struct Shown {
    /// The name of its part.
    pub id: String,
    /// Whether the part begins with it.
    pub begins: bool,
    /// The text.
    pub text: String,
}

impl Pieces {
    /// Takes up a piece of the answer to an effect.
    pub fn push(&mut self, effect: u32, text: &str) -> Option<Shown> {
        let at = self.parts.iter().position(|it| it.effect == effect && !it.is_complete).unwrap_or_else(|| {
            self.parts.push(Part { effect, id: String::new(), text: String::new(), is_shown: false, is_complete: false });
            self.parts.len() - 1
        });
        let part = self.parts.get_mut(at)?;
        part.text.push_str(text);
        if part.text.trim().is_empty() {
            return None;
        }
        if part.is_shown {
            return Some(Shown { id: part.id.clone(), begins: false, text: text.to_owned() });
        }
        let count = self.begun.entry(effect).or_default();
        *count += 1;
        part.id = if *count == 1 { format!("t{effect}") } else { format!("t{effect}-{count}") };
        part.is_shown = true;
        Some(Shown { id: part.id.clone(), begins: true, text: part.text.clone() })
    }

    /// Notes that the answer to an effect is complete.
    pub fn complete(&mut self, effect: u32) {
        self.parts.iter_mut().filter(|it| it.effect == effect).for_each(|it| it.is_complete = true);
    }

    /// The part that a message says.
    pub fn said(&mut self, text: &str) -> Option<Part> {
        let at = self.parts.iter().position(|it| it.is_shown && it.is_complete && it.text == text)?;
        Some(self.parts.remove(at))
    }

    /// What was shown for an effect and does not count.
    pub fn of(&mut self, effect: u32) -> Vec<Part> {
        self.without(|it| it.effect == effect)
    }

    /// What is complete and was not said.
    pub fn unsaid(&mut self) -> Vec<Part> {
        self.without(|it| it.is_complete)
    }

    /// All that was not said.
    pub fn rest(&mut self) -> Vec<Part> {
        self.without(|_| true)
    }

    fn without(&mut self, gone: impl Fn(&Part) -> bool) -> Vec<Part> {
        self.parts.extract_if(.., |it| gone(it)).filter(|it| it.is_shown).collect()
    }
}
