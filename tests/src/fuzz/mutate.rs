//! Derives inputs from other inputs: by bytes, by words of the seeds, and for JSON by its values.

use std::collections::BTreeSet;

use convengine_core::turn::Rng;
use serde_json::{Map, Value, json};

use super::MAX_INPUT_BYTES;

/// Brackets and other constructs that can be nested.
const NESTABLE: [(&str, &str); 16] = [
    ("[", "]"),
    ("{", "}"),
    ("{\"a\":", "}"),
    ("(", ")"),
    ("!", ""),
    ("-", ""),
    ("not ", ""),
    ("${", "}"),
    ("[[${", "}]]"),
    ("{{", "}}"),
    ("[# th:if=\"${a}\"]", "[/]"),
    ("[# th:each=\"x : ${a}\"]", "[/]"),
    ("$[?(@.a", ")]"),
    ("a ? ", " : b"),
    ("(?:", ")*"),
    ("\"", "\""),
];

/// Words that are used in addition to those of the seeds.
const WORDS: [&str; 28] = [
    "\u{0}",
    "\u{feff}",
    "\u{2028}",
    "ß",
    "İ",
    "\u{1f642}",
    "e\u{301}",
    "\\u0000",
    "\\ud800",
    "\\",
    "\"",
    "'",
    "\r\n",
    "\t",
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "0.1",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "4294967296",
    "1970-01-01T00:00:00Z",
    "$.a",
    "..",
    "%%",
];

/// The maximum number of words that are taken from the seeds.
const MAX_WORDS: usize = 4_000;

/// A generator of inputs, deterministic for a seed and the kept inputs.
#[derive(Debug)]
pub struct Mutator {
    rng: Rng,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// Creates a generator with the words of the seeds.
    pub fn new(seed: u64, seeds: &[Vec<u8>]) -> Mutator {
        let mut words: BTreeSet<Vec<u8>> = WORDS.iter().map(|word| word.as_bytes().to_vec()).collect();
        for seed in seeds {
            let class = |byte: u8| if byte.is_ascii_alphanumeric() || byte == b'_' { 0 } else { 1 + u8::from(byte.is_ascii_whitespace()) };
            let pieces = seed.chunk_by(|a, b| class(*a) == class(*b));
            words.extend(pieces.filter(|piece| piece.len() <= 32).map(<[u8]>::to_vec));
            if words.len() > MAX_WORDS {
                break;
            }
        }
        Mutator { rng: Rng::new(seed), words: words.into_iter().collect() }
    }

    /// Generates the next input.
    pub fn next_input(&mut self, kept: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.pick(kept).cloned().unwrap_or_default();
        let json = if self.one_in(2) { serde_json::from_slice::<Value>(&input).ok() } else { None };
        if let Some(mut value) = json {
            for _ in 0..=self.next_below(3) {
                self.change(&mut value, kept);
            }
            input = value.to_string().into_bytes();
        }
        if input.is_empty() || self.one_in(2) {
            for _ in 0..=self.next_below(6) {
                self.edit(&mut input, kept);
            }
        }
        input.truncate(MAX_INPUT_BYTES);
        input
    }

    fn next_below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { (self.rng.next_u64() % end as u64) as usize }
    }

    /// Returns true with a probability of 1 in `of`.
    fn one_in(&mut self, count: usize) -> bool {
        self.next_below(count) == 0
    }

    fn pick<'t, T>(&mut self, items: &'t [T]) -> Option<&'t T> {
        let at = self.next_below(items.len());
        items.get(at)
    }

    fn pick_word(&mut self) -> Vec<u8> {
        let at = self.next_below(self.words.len());
        self.words.get(at).cloned().unwrap_or_default()
    }

    /// Picks a range of an input, mostly a short one.
    fn pick_range(&mut self, length: usize) -> (usize, usize) {
        let start = self.next_below(length + 1);
        let max = if self.one_in(4) { length - start } else { 16.min(length - start) };
        (start, start + self.next_below(max + 1))
    }

    fn edit(&mut self, input: &mut Vec<u8>, kept: &[Vec<u8>]) {
        let (start, end) = self.pick_range(input.len());
        let piece = input.get(start..end).unwrap_or_default().to_vec();
        let new = match self.next_below(10) {
            0 => {
                if let Some(byte) = input.get_mut(start) {
                    *byte ^= 1 << (self.rng.next_u64() % 8);
                }
                return;
            }
            1 => vec![self.rng.next_u64() as u8],
            2 | 3 => self.pick_word(),
            4 => Vec::new(),
            5 => [piece, self.pick_word()].concat(),
            6 => {
                let times = [2, 3, 10, 1_000, 20_000][self.next_below(5)];
                let times = times.min(MAX_INPUT_BYTES / piece.len().max(1));
                piece.repeat(times)
            }
            7 => {
                let other = self.pick(kept).cloned().unwrap_or_default();
                let (start, end) = self.pick_range(other.len());
                other.get(start..end).unwrap_or_default().to_vec()
            }
            8 => self.nest(&piece),
            // The rest is replaced by the rest of another input.
            _ => {
                let other = self.pick(kept).cloned().unwrap_or_default();
                let from = self.next_below(other.len() + 1);
                input.truncate(start);
                input.extend_from_slice(other.get(from..).unwrap_or_default());
                return;
            }
        };
        input.splice(start..end, new);
        input.truncate(MAX_INPUT_BYTES);
    }

    /// Nests a piece in brackets, many times.
    fn nest(&mut self, piece: &[u8]) -> Vec<u8> {
        let (open, close) = NESTABLE[self.next_below(NESTABLE.len())];
        let max = MAX_INPUT_BYTES / (open.len() + close.len());
        let times = [1, 2, 60, 126, 130, 2_000, 60_000][self.next_below(7)].min(max);
        let closed = if self.one_in(3) { 0 } else { times };
        [open.repeat(times).as_bytes(), piece, close.repeat(closed).as_bytes()].concat()
    }

    /// Changes one value at any depth.
    fn change(&mut self, root: &mut Value, kept: &[Vec<u8>]) {
        let mut target = self.next_below(count_values(root));
        let Some(node) = nth_value_mut(root, &mut target) else { return };
        match (self.next_below(6), &mut *node) {
            (0, _) => *node = self.pick_value(kept),
            (1, Value::Object(members)) => {
                let key = String::from_utf8_lossy(&self.pick_word()).into_owned();
                let value = self.pick_value(kept);
                members.insert(key, value);
            }
            (2, Value::Object(members)) => {
                let at = self.next_below(members.len());
                let Some(key) = members.keys().nth(at).cloned() else { return };
                let value = members.shift_remove(&key).unwrap_or_default();
                if self.one_in(2) {
                    members.insert(String::from_utf8_lossy(&self.pick_word()).into_owned(), value);
                }
            }
            (1 | 2, Value::Array(items)) => {
                let at = self.next_below(items.len());
                match items.get(at).cloned() {
                    Some(item) if self.one_in(2) => items.push(item),
                    Some(_) => drop(items.remove(at)),
                    None => items.push(self.pick_value(kept)),
                }
            }
            (_, Value::String(text)) => {
                let mut bytes = std::mem::take(text).into_bytes();
                for _ in 0..=self.next_below(3) {
                    self.edit(&mut bytes, kept);
                }
                bytes.truncate(MAX_INPUT_BYTES / 8);
                *text = String::from_utf8_lossy(&bytes).into_owned();
            }
            (3, _) => {
                for _ in 0..[1, 10, 130][self.next_below(3)] {
                    let inner = node.take();
                    *node = if self.one_in(2) { json!([inner]) } else { Value::Object(Map::from_iter([("a".to_owned(), inner)])) };
                }
            }
            _ => *node = self.pick_value(kept),
        }
    }

    /// Returns a value: a word, a constant, or a part of another input.
    fn pick_value(&mut self, kept: &[Vec<u8>]) -> Value {
        let plain = [
            json!(null),
            json!(true),
            json!(0),
            json!(-1),
            json!(1e300),
            json!(i64::MAX),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(0.5),
            json!(""),
            json!([]),
            json!({}),
            json!("ANY"),
            json!([[]]),
        ];
        match self.next_below(3) {
            0 => Value::from(String::from_utf8_lossy(&self.pick_word()).into_owned()),
            1 => plain[self.next_below(plain.len())].clone(),
            _ => {
                let other = self.pick(kept).map(|it| serde_json::from_slice::<Value>(it));
                let Some(Ok(mut other)) = other else { return plain[self.next_below(plain.len())].clone() };
                let mut target = self.next_below(count_values(&other));
                nth_value_mut(&mut other, &mut target).map(Value::take).unwrap_or_default()
            }
        }
    }
}

fn count_values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count_values).sum::<usize>(),
        Value::Object(members) => members.values().map(count_values).sum(),
        _ => 0,
    }
}

/// Returns the value with this number, in document order.
fn nth_value_mut<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    let inner: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(members) => members.values_mut().collect(),
        _ => Vec::new(),
    };
    for child in inner {
        let size = count_values(child);
        if *left < size {
            return nth_value_mut(child, left);
        }
        *left -= size;
    }
    None
}
