//! Separates what a model thinks aloud from its answer. Some models write their thoughts into the answer itself, between tags.
//!
//! A block of thoughts is kept out of the answer wherever it stands. An opening tag without its closing one takes the rest of the text if
//! it begins a line, as in an answer that was cut off within its thoughts; elsewhere it is text. A closing tag without an opening one
//! closes what came before it, because some servers put the opening tag into the prompt. A tag in backticks is only mentioned.

use std::mem;

/// The tags that open and close thoughts.
const TAGS: [(&str, &str); 7] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
];

/// The most white space before a block, in bytes.
const MAX_BLANK: usize = 1_024;

/// The length of the longest tag.
const LONGEST_TAG: usize = 30;

/// An answer that is read piece by piece, and the thoughts that were separated from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasoningSplitter {
    answer: String,
    reasoning: String,
    /// What is not decided yet: the beginning of a tag, or an open block.
    pending: String,
    /// How much of an open block has been searched for its end.
    searched: usize,
    /// The tag of the open block, and whether it begins a line.
    open: Option<(usize, bool)>,
    /// Whether a block has been closed.
    has_block: bool,
    /// How many bytes of the answer turned out to be thoughts.
    withdrawn: usize,
}

/// A tag within a text.
struct FoundTag {
    at: usize,
    tag: usize,
    closes: bool,
}

impl ReasoningSplitter {
    /// Adds a piece of the answer.
    pub fn push(&mut self, piece: &str) {
        self.pending.push_str(piece);
        loop {
            let goes_on = match self.open {
                Some((tag, _)) => self.read_block(tag),
                None => self.read_answer(),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Adds thoughts that came apart from the answer.
    pub fn push_reasoning(&mut self, piece: &str) {
        self.reasoning.push_str(piece);
    }

    /// Ends the answer; what was not decided is answer or thoughts now.
    pub fn finish(&mut self) {
        let rest = mem::take(&mut self.pending);
        match self.open.take() {
            Some((_, true)) => self.end_block(&rest),
            Some((tag, false)) => {
                let opening = TAGS.get(tag).map_or("", |it| it.0);
                self.add_answer(opening);
                self.add_answer(&rest);
            }
            None => self.add_answer(&rest),
        }
    }

    /// The answer so far. It only grows, except when a closing tag turns all of it into thoughts.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// How many bytes that were the answer turned out to be thoughts.
    pub fn withdrawn(&self) -> usize {
        self.withdrawn
    }

    /// The thoughts so far.
    pub fn reasoning(&self) -> &str {
        &self.reasoning
    }

    /// Returns the answer and the thoughts of a finished answer.
    pub fn into_parts(self) -> (String, String) {
        (self.answer, self.reasoning)
    }

    /// Reads up to the end of the open block; returns whether there is more to read.
    fn read_block(&mut self, tag: usize) -> bool {
        let close = TAGS.get(tag).map_or("", |it| it.1);
        let Some(at) = find_ignoring_case(&self.pending, self.searched, close) else {
            self.searched = floor_boundary(&self.pending, (self.pending.len() + 1).saturating_sub(close.len()));
            return false;
        };
        let rest = self.pending.split_off(at + close.len());
        let mut block = mem::replace(&mut self.pending, rest);
        block.truncate(at);
        self.end_block(&block);
        self.open = None;
        true
    }

    /// Reads up to the next tag; returns whether there is more to read.
    fn read_answer(&mut self) -> bool {
        let Some(FoundTag { at, tag, closes }) = self.find_tag() else {
            let undecided = undecided_length(&self.pending);
            let settled = self.pending.len() - undecided;
            // White space at the beginning may stand before a block.
            let is_blank = self.pending.get(..settled).is_some_and(|text| text.trim().is_empty());
            if !(is_blank && self.answer.is_empty() && settled < MAX_BLANK) {
                let rest = self.pending.split_off(settled);
                let settled = mem::replace(&mut self.pending, rest);
                self.add_answer(&settled);
            }
            return false;
        };
        let (open, close) = TAGS.get(tag).copied().unwrap_or_default();
        let length = if closes { close.len() } else { open.len() };
        let rest = self.pending.split_off(at + length);
        let mut before = mem::replace(&mut self.pending, rest);
        before.truncate(at);
        if closes {
            let mut thoughts = mem::take(&mut self.answer);
            self.withdrawn += thoughts.len();
            thoughts.push_str(&before);
            self.end_block(&thoughts);
            return true;
        }
        if !(self.answer.is_empty() && before.trim().is_empty()) {
            self.add_answer(&before);
        }
        let line = self.answer.rsplit('\n').next().unwrap_or_default();
        self.open = Some((tag, line.trim().is_empty()));
        self.searched = 0;
        true
    }

    /// Returns the first tag that counts. A closing one counts only where no block was closed before it.
    fn find_tag(&self) -> Option<FoundTag> {
        let mut from = 0;
        loop {
            let tags = TAGS.iter().enumerate();
            let found = tags.flat_map(|(tag, (open, close))| {
                let opening = find_ignoring_case(&self.pending, from, open).map(|at| FoundTag { at, tag, closes: false });
                let closing = find_ignoring_case(&self.pending, from, close).filter(|_| !self.has_block);
                [opening, closing.map(|at| FoundTag { at, tag, closes: true })]
            });
            let found = found.flatten().min_by_key(|it| it.at)?;
            let before = self.pending.get(..found.at).unwrap_or_default();
            let last = before.chars().next_back().or_else(|| self.answer.chars().next_back());
            if last != Some('`') {
                return Some(found);
            }
            from = found.at + 1;
        }
    }

    /// Adds to the answer. White space between a block and the answer belongs to neither.
    fn add_answer(&mut self, text: &str) {
        let text = if self.has_block && self.answer.is_empty() { text.trim_start() } else { text };
        self.answer.push_str(text);
    }

    fn end_block(&mut self, thoughts: &str) {
        let thoughts = thoughts.trim();
        if !thoughts.is_empty() && !self.reasoning.is_empty() {
            self.reasoning.push('\n');
        }
        self.reasoning.push_str(thoughts);
        self.has_block = true;
    }
}

/// Returns the answer and the thoughts of a text.
pub fn split_reasoning(text: &str) -> (String, String) {
    let mut splitter = ReasoningSplitter::default();
    splitter.push(text);
    splitter.finish();
    splitter.into_parts()
}

/// The place of an ASCII word from an offset on, whatever its case.
fn find_ignoring_case(text: &str, from: usize, word: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(from..)?;
    let first = *word.as_bytes().first()?;
    let is_here = |at: usize| bytes.get(at..at + word.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(word.as_bytes()));
    bytes.iter().enumerate().filter(|it| *it.1 == first).map(|it| it.0).find(|at| is_here(*at)).map(|at| from + at)
}

/// How many bytes at the end of a text may be the beginning of a tag.
fn undecided_length(text: &str) -> usize {
    let start = floor_boundary(text, text.len().saturating_sub(LONGEST_TAG));
    let tail = text.get(start..).unwrap_or_default();
    let may_begin = |rest: &str| {
        let is_start = |tag: &str| tag.as_bytes().get(..rest.len()).is_some_and(|start| start.eq_ignore_ascii_case(rest.as_bytes()));
        TAGS.iter().any(|(open, close)| is_start(open) || is_start(close))
    };
    let rests = tail.char_indices().map(|(at, _)| tail.get(at..).unwrap_or_default());
    rests.filter(|it| may_begin(it)).map(str::len).next().unwrap_or(0)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|it| text.is_char_boundary(*it)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text, its answer and its thoughts.
    const CASES: [(&str, &str, &str); 19] = [
        ("Hello.", "Hello.", ""),
        ("<think>\nHm.\n</think>\n\nHello.", "Hello.", "Hm."),
        ("<think></think>\n\nHello.", "Hello.", ""),
        (" \n<THINK>Hm.</Think>Hello.", "Hello.", "Hm."),
        ("<thinking>a < b</thinking> {\"a\": 1}", "{\"a\": 1}", "a < b"),
        ("[THINK]Hm.[/THINK]Grüße 🙂", "Grüße 🙂", "Hm."),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.",
            "Hello.",
            "Hm.<|end|><|start|>assistant",
        ),
        ("Well, <think>Hm.</think>hello.", "Well, hello.", "Hm."),
        ("<think>One.</think>A.\n<think>Two.</think>B.", "A.\nB.", "One.\nTwo."),
        ("The user greets.\n</think>\nHello.", "Hello.", "The user greets."),
        ("<think>Hm. It is", "", "Hm. It is"),
        ("Hello.\n<think>Hm", "Hello.\n", "Hm"),
        ("a <think> b", "a <think> b", ""),
        ("Models write `<think>` and `</think>`.", "Models write `<think>` and `</think>`.", ""),
        ("<think>Hm.</think>a </think> b", "a </think> b", "Hm."),
        ("1 <thin 2 </thi", "1 <thin 2 </thi", ""),
        ("{\"t\": \"<reasoning>x</reasoning>y\"}", "{\"t\": \"y\"}", "x"),
        ("<think>the tag <thinking> is one</think>A", "A", "the tag <thinking> is one"),
        ("", "", ""),
    ];

    #[test]
    fn thoughts_are_separated_from_the_answer() {
        for (text, answer, reasoning) in CASES {
            assert_eq!(split_reasoning(text), (answer.to_owned(), reasoning.to_owned()), "{text}");
        }
        assert!(TAGS.iter().all(|(open, close)| open.len() <= LONGEST_TAG && close.len() <= LONGEST_TAG));
    }

    #[test]
    fn a_text_may_be_split_anywhere() {
        for (text, answer, reasoning) in CASES {
            for size in 1..=5 {
                let characters: Vec<char> = text.chars().collect();
                let mut splitter = ReasoningSplitter::default();
                characters.chunks(size).for_each(|piece| splitter.push(&piece.iter().collect::<String>()));
                splitter.finish();
                assert_eq!(splitter.into_parts(), (answer.to_owned(), reasoning.to_owned()), "{text} by {size}");
            }
        }
    }

    #[test]
    fn what_is_settled_is_never_withdrawn_but_for_a_lone_closing_tag() {
        let mut splitter = ReasoningSplitter::default();
        for (piece, answer) in
            [("Hel", "Hel"), ("lo <", "Hello "), ("b> <th", "Hello <b> "), ("ink>x</think", "Hello <b> "), (">!", "Hello <b> !")]
        {
            splitter.push(piece);
            assert_eq!(splitter.answer(), answer, "{piece}");
        }
    }
}
