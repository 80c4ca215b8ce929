//! Ranges of numbers and of amounts of money.

use serde_json::{Value, json};

use crate::kind::Kind;
use crate::number::Number;

/// An end of a range.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RangeEnd {
    pub value: Number,
    /// The decimal digits of an amount of money.
    pub amount: String,
    pub currency: Option<String>,
    /// The multiplier with which it ends, and the number before it: `3 million`.
    pub scale: Option<Scale>,
    /// Whether the word for the number may be an article.
    pub is_article: bool,
    /// Whether its currency is named behind it.
    pub is_named: bool,
    /// Whether its currency says nothing about the other end: `50 cents`.
    pub is_apart: bool,
}

/// A multiplier, and the number before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub count: Number,
    pub factor: u64,
    /// Whether number and multiplier are one word: German `dreitausend`.
    pub is_compound: bool,
}

/// Numbers or amounts of money from one to another, one of which may be open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ValueRange {
    pub from: Option<RangeEnd>,
    pub to: Option<RangeEnd>,
}

/// From which number on a count before a multiplier is none of it: `500,000 to 1 million`.
const SCALED: u64 = 1_000;
/// How many tokens before a range a number may begin that reaches into it.
pub(crate) const REACH: usize = 6;

/// A range of two ends; `None` when they do not go together.
pub(crate) fn between(from: &RangeEnd, to: &RangeEnd) -> Option<ValueRange> {
    let currency = match (&from.currency, &to.currency) {
        (Some(one), Some(other)) if one != other => return None,
        (None, Some(_)) if to.is_apart => return None,
        // "send 20 dollars to 30 people"
        (Some(_), None) if from.is_named => return None,
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    let mut from = RangeEnd { currency: currency.clone(), ..scaled(from, to)? };
    let to = RangeEnd { currency, ..to.clone() };
    from.is_article = false;
    let difference = to.value.add(from.value.negate())?;
    (difference != Number::ZERO && !difference.is_negative()).then_some(ValueRange { from: Some(from), to: Some(to) })
}

/// The first end with the multiplier that is said behind the second alone: `2 to 3 million`; `None` when it may belong to both or not.
fn scaled(from: &RangeEnd, to: &RangeEnd) -> Option<RangeEnd> {
    let is_less = |one: Number, other: Number| {
        other.add(one.negate()).is_some_and(|difference| difference != Number::ZERO && !difference.is_negative())
    };
    let Some(scale) = to.scale.filter(|_| from.scale.is_none() && is_less(from.value, Number::from_integer(SCALED))) else {
        return Some(from.clone());
    };
    if !is_less(from.value, scale.count) {
        return (scale.factor < 1_000_000).then(|| from.clone());
    }
    if scale.factor < 1_000 || scale.is_compound || from.currency.is_some() {
        return None;
    }
    let value = from.value.multiply(Number::from_integer(scale.factor))?;
    Some(RangeEnd { value, amount: value.to_decimal()?, scale: to.scale, ..from.clone() })
}

impl ValueRange {
    /// Whether it has one end.
    pub fn is_open(&self) -> bool {
        self.from.is_none() || self.to.is_none()
    }

    /// The stored form of a range of a kind; `None` when it is one of the other kind.
    pub fn stored(&self, kind: Kind) -> Option<Value> {
        let mut range = serde_json::Map::new();
        for (name, end) in [("from", &self.from), ("to", &self.to)] {
            let Some(end) = end else { continue };
            let value = match (&end.currency, kind) {
                (None, Kind::NumberRange) => end.value.to_json()?,
                (Some(currency), Kind::CurrencyRange) => json!({"amount": end.amount, "currency": currency}),
                _ => return None,
            };
            range.insert(name.to_owned(), value);
        }
        Some(Value::Object(range))
    }
}
