//! Tracks the pieces of model output shown to a caller until their message arrives.

use std::collections::BTreeMap;

/// The parts shown without a message so far.
#[derive(Debug, Default)]
pub struct Pieces {
    parts: Vec<Part>,
    /// Number of parts per effect.
    part_counts: BTreeMap<u32, usize>,
}

/// The shown part of a model output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The effect of the model call.
    pub effect: u32,
    /// The part id; a part written again after a reset has a new id.
    pub id: String,
    text: String,
    /// Whether the part is shown; leading white space is not, as no text may follow it.
    is_shown: bool,
    /// Whether the model output is complete, so that its message comes next.
    is_complete: bool,
}

/// A piece to show.
#[derive(Debug, PartialEq, Eq)]
pub struct ShownPiece {
    /// The part id.
    pub id: String,
    /// Whether it is the first piece of its part.
    pub is_first: bool,
    /// The text.
    pub text: String,
}

impl Pieces {
    /// Adds a piece of model output. Returns what to show, if anything.
    pub fn push(&mut self, effect: u32, text: &str) -> Option<ShownPiece> {
        let index = self.parts.iter().position(|part| part.effect == effect && !part.is_complete).unwrap_or_else(|| {
            self.parts.push(Part { effect, id: String::new(), text: String::new(), is_shown: false, is_complete: false });
            self.parts.len() - 1
        });
        let part = self.parts.get_mut(index)?;
        part.text.push_str(text);
        if part.text.trim().is_empty() {
            return None;
        }
        if part.is_shown {
            return Some(ShownPiece { id: part.id.clone(), is_first: false, text: text.to_owned() });
        }
        let count = self.part_counts.entry(effect).or_default();
        *count += 1;
        part.id = if *count == 1 { format!("t{effect}") } else { format!("t{effect}-{count}") };
        part.is_shown = true;
        Some(ShownPiece { id: part.id.clone(), is_first: true, text: part.text.clone() })
    }

    /// Marks the model output of an effect as complete.
    pub fn mark_complete(&mut self, effect: u32) {
        self.parts.iter_mut().filter(|it| it.effect == effect).for_each(|it| it.is_complete = true);
    }

    /// Removes the part whose text equals that of a message.
    pub fn take_for_message(&mut self, text: &str) -> Option<Part> {
        let index = self.parts.iter().position(|part| part.is_shown && part.is_complete && part.text == text)?;
        Some(self.parts.remove(index))
    }

    /// Removes the shown parts of an effect.
    pub fn take_for_effect(&mut self, effect: u32) -> Vec<Part> {
        self.take_matching(|it| it.effect == effect)
    }

    /// Removes the complete parts.
    pub fn take_complete(&mut self) -> Vec<Part> {
        self.take_matching(|it| it.is_complete)
    }

    /// Removes all parts.
    pub fn take_all(&mut self) -> Vec<Part> {
        self.take_matching(|_| true)
    }

    fn take_matching(&mut self, should_take: impl Fn(&Part) -> bool) -> Vec<Part> {
        self.parts.extract_if(.., |it| should_take(it)).filter(|it| it.is_shown).collect()
    }
}
