//! The built-in entity types.

use std::borrow::Cow;
use std::ops::Range;

use convengine_text::date::Date;
use convengine_values::{Consent, Context, Direction, Kind, Parse, Reading, read_answer, read_consent, read_whole};
use serde_json::{Map, Value};

use super::{DayOptions, ExtractionContext, Grain, email, money, phone, text_list, url};

/// Maximum values that are looked for in one text.
const MAX_VALUES: usize = 32;

/// A built-in entity type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemEntity {
    /// Any text that is not blank.
    String,
    /// A number.
    Number,
    /// A percentage.
    Percent,
    /// An ordinal.
    Ordinal,
    /// An email address.
    Email,
    /// A phone number.
    Phone,
    /// A web address.
    Url,
    /// Yes or no.
    Boolean,
    /// A day.
    Date,
    /// A time of the day.
    Time,
    /// A time on a day.
    DateTime,
    /// Days from one to another.
    DateRange,
    /// A time from one to another.
    TimeRange,
    /// A time on a day to another.
    DateTimeRange,
    /// A number to another.
    NumberRange,
    /// An amount of money to another.
    CurrencyRange,
    /// An amount of money.
    Currency,
    /// A duration.
    Duration,
    /// A list of texts.
    List,
}

/// What reads the values of a type.
enum Reader {
    /// The grammar of values.
    Grammar(Kind),
    /// A text as a whole.
    Text,
    Texts,
    Consent,
    Email,
    Phone,
    Url,
}

const ALL: [SystemEntity; 19] = [
    SystemEntity::String,
    SystemEntity::Number,
    SystemEntity::Percent,
    SystemEntity::Ordinal,
    SystemEntity::Email,
    SystemEntity::Phone,
    SystemEntity::Url,
    SystemEntity::Boolean,
    SystemEntity::Date,
    SystemEntity::Time,
    SystemEntity::DateTime,
    SystemEntity::DateRange,
    SystemEntity::TimeRange,
    SystemEntity::DateTimeRange,
    SystemEntity::NumberRange,
    SystemEntity::CurrencyRange,
    SystemEntity::Currency,
    SystemEntity::Duration,
    SystemEntity::List,
];

/// Returns the names of the built-in types, for the documentation.
pub fn system_entity_names() -> Vec<&'static str> {
    ALL.map(SystemEntity::name).to_vec()
}

impl SystemEntity {
    /// Returns the type with a name such as `@number`.
    pub fn from_name(name: &str) -> Option<SystemEntity> {
        ALL.into_iter().find(|entity| entity.name() == name)
    }

    /// The name, such as `@number`.
    pub fn name(self) -> &'static str {
        match self {
            SystemEntity::String => "@string",
            SystemEntity::Number => "@number",
            SystemEntity::Percent => "@percent",
            SystemEntity::Ordinal => "@ordinal",
            SystemEntity::Email => "@email",
            SystemEntity::Phone => "@phone",
            SystemEntity::Url => "@url",
            SystemEntity::Boolean => "@boolean",
            SystemEntity::Date => "@date",
            SystemEntity::Time => "@time",
            SystemEntity::DateTime => "@datetime",
            SystemEntity::DateRange => "@date_range",
            SystemEntity::TimeRange => "@time_range",
            SystemEntity::DateTimeRange => "@datetime_range",
            SystemEntity::NumberRange => "@number_range",
            SystemEntity::CurrencyRange => "@currency_range",
            SystemEntity::Currency => "@currency",
            SystemEntity::Duration => "@duration",
            SystemEntity::List => "@list",
        }
    }

    /// What reads its values.
    fn reader(self) -> Reader {
        match self {
            SystemEntity::String => Reader::Text,
            SystemEntity::Number => Reader::Grammar(Kind::Number),
            SystemEntity::Percent => Reader::Grammar(Kind::Percent),
            SystemEntity::Ordinal => Reader::Grammar(Kind::Ordinal),
            SystemEntity::Email => Reader::Email,
            SystemEntity::Phone => Reader::Phone,
            SystemEntity::Url => Reader::Url,
            SystemEntity::Boolean => Reader::Consent,
            SystemEntity::Date => Reader::Grammar(Kind::Date),
            SystemEntity::Time => Reader::Grammar(Kind::Time),
            SystemEntity::DateTime => Reader::Grammar(Kind::DateTime),
            SystemEntity::DateRange => Reader::Grammar(Kind::DateRange),
            SystemEntity::TimeRange => Reader::Grammar(Kind::TimeRange),
            SystemEntity::DateTimeRange => Reader::Grammar(Kind::DateTimeRange),
            SystemEntity::NumberRange => Reader::Grammar(Kind::NumberRange),
            SystemEntity::CurrencyRange => Reader::Grammar(Kind::CurrencyRange),
            SystemEntity::Currency => Reader::Grammar(Kind::Currency),
            SystemEntity::Duration => Reader::Grammar(Kind::Duration),
            SystemEntity::List => Reader::Texts,
        }
    }

    /// Returns the first value of a trimmed text.
    pub(super) fn find(self, text: &str, context: ExtractionContext<'_>, options: DayOptions) -> Option<Value> {
        match self.reader() {
            Reader::Grammar(Kind::Date) if options.max_grain > Grain::Day => {
                let first = || find_days(text, context, options).into_iter().next().map(|(value, _)| value);
                read_stored(text, options).or_else(first)
            }
            Reader::Grammar(kind) => parse(text, context, options.direction, |it| it.read(kind)).into_iter().next().map(|it| it.value),
            Reader::Text => (!text.is_empty()).then(|| text.into()),
            Reader::Texts => text_list::find(text, context.locale),
            Reader::Consent => match read_consent(text, context.locale)? {
                Consent::Yes => Some(true.into()),
                Consent::No => Some(false.into()),
                Consent::YesBut | Consent::NoBut => None,
            },
            Reader::Email | Reader::Phone | Reader::Url => self.find_all(text, context, options).into_iter().next().map(|it| it.0),
        }
    }

    /// Returns the value that a trimmed text is as a whole.
    pub(super) fn find_whole(self, text: &str, context: ExtractionContext<'_>, options: DayOptions) -> Option<Value> {
        if self == SystemEntity::Date
            && let Some(day) = Date::parse_in_zone(text, context.time_zone)
        {
            return Some(cut_to_grain(&day.to_day_string(), options.min_grain).into());
        }
        if self == SystemEntity::Date && options.max_grain > Grain::Day {
            let whole =
                || find_days(text, context, options).into_iter().next().filter(|found| found.1 == (0..text.len())).map(|(value, _)| value);
            return read_stored(text, options).or_else(whole);
        }
        match self.reader() {
            Reader::Grammar(kind) => read_whole(kind, text, &values_context(context, options.direction)),
            Reader::Text | Reader::Texts | Reader::Consent => self.find(text, context, options),
            Reader::Email | Reader::Phone | Reader::Url => {
                let first = self.find_all(text, context, options).into_iter().next();
                first.filter(|found| found.1 == (0..text.len())).map(|it| it.0)
            }
        }
    }

    /// Reads a text that is the whole answer to a question for this type.
    pub(super) fn read_answer(self, text: &str, context: ExtractionContext<'_>, options: DayOptions) -> Option<Value> {
        let Reader::Grammar(kind) = self.reader() else { return None };
        let value = read_answer(kind, text, &values_context(context, options.direction))?;
        Some(if kind == Kind::Date { cut_to_grain(value.as_str()?, options.min_grain).into() } else { value })
    }

    /// Returns the values of a trimmed text with their places, also the two ends of ranges; none for types that read a text as a whole.
    pub(super) fn find_all(self, text: &str, context: ExtractionContext<'_>, options: DayOptions) -> Vec<(Value, Range<usize>)> {
        let of_texts = |found: &mut dyn Iterator<Item = (String, Range<usize>)>| {
            found.take(MAX_VALUES).map(|(text, range)| (Value::String(text), range)).collect::<Vec<_>>()
        };
        match self.reader() {
            Reader::Grammar(Kind::Date) if options.max_grain > Grain::Day => find_days(text, context, options),
            Reader::Grammar(kind) => {
                let found = parse(text, context, options.direction, |it| it.read_each(kind)).into_iter();
                found.map(|it| (it.value, it.range)).collect()
            }
            Reader::Text | Reader::Texts | Reader::Consent => Vec::new(),
            Reader::Email => of_texts(&mut email::find_all(text)),
            Reader::Phone => {
                let ascii = with_ascii_digits(text);
                let mut found = of_texts(&mut phone::find_all(&ascii, context.locale));
                if ascii.len() != text.len() {
                    for (_, range) in &mut found {
                        *range = source_position(text, range.start)..source_position(text, range.end);
                    }
                }
                if found.is_empty() {
                    return found;
                }
                let dates = parse(text, context, options.direction, |it| it.read_each(Kind::Date));
                let prices = parse(text, context, options.direction, |it| it.read_each(Kind::Currency));
                let is_within = |range: &Range<usize>, other: &Range<usize>| other.start <= range.start && range.end <= other.end;
                // "2026-03-05" has as many digits as a phone number, and "2026-03-05 10" begins with them.
                found.retain(|(_, range)| !dates.iter().any(|date| is_within(range, &date.range) || date.range.start == range.start));
                found.retain(|(_, range)| !prices.iter().any(|price| is_within(range, &price.range)));
                found
            }
            Reader::Url => of_texts(&mut url::find_all(text).into_iter()),
        }
    }

    /// Normalizes a value that is neither text nor number.
    pub(super) fn accept(self, value: &Value, context: ExtractionContext<'_>) -> Option<Value> {
        match self.reader() {
            Reader::Consent => value.is_boolean().then(|| value.clone()),
            Reader::Texts => text_list::accept(value),
            Reader::Grammar(Kind::Currency) => money::accept(value),
            Reader::Grammar(Kind::DateRange) => accept_range(SystemEntity::Date, value, context),
            Reader::Grammar(Kind::TimeRange) => accept_range(SystemEntity::Time, value, context),
            Reader::Grammar(Kind::DateTimeRange) => accept_range(SystemEntity::DateTime, value, context),
            Reader::Grammar(Kind::NumberRange) => accept_range(SystemEntity::Number, value, context).filter(is_ascending),
            Reader::Grammar(Kind::CurrencyRange) => {
                accept_range(SystemEntity::Currency, value, context).filter(has_one_currency).filter(is_ascending)
            }
            Reader::Grammar(_) | Reader::Text | Reader::Email | Reader::Phone | Reader::Url => None,
        }
    }
}

/// Normalizes a range: an object with `from`, `to` or both.
fn accept_range(end: SystemEntity, value: &Value, context: ExtractionContext<'_>) -> Option<Value> {
    let members = value.as_object().filter(|members| !members.is_empty() && members.keys().all(|name| name == "from" || name == "to"))?;
    let mut range = Map::new();
    for name in ["from", "to"] {
        let Some(member) = members.get(name).filter(|it| !it.is_null()) else { continue };
        let accepted = match member {
            Value::String(text) => end.find_whole(text.trim(), context, DayOptions::default())?,
            Value::Number(_) if end == SystemEntity::Number => normalize_number(member)?,
            Value::Object(_) => end.accept(member, context)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return None,
        };
        range.insert(name.to_owned(), accepted);
    }
    (!range.is_empty()).then_some(Value::Object(range))
}

/// Finds days, and the months and years that stand for them, from left to right.
fn find_days(text: &str, context: ExtractionContext<'_>, options: DayOptions) -> Vec<(Value, Range<usize>)> {
    let kinds = [(Grain::Day, Kind::Date), (Grain::Month, Kind::Month), (Grain::Year, Kind::Year)];
    let wanted = kinds.into_iter().filter(|it| it.0 <= options.max_grain);
    let mut found: Vec<Reading> =
        parse(text, context, options.direction, |parse| wanted.flat_map(|(_, kind)| parse.read_each(kind)).collect());
    found.sort_by_key(|it| it.range.start);
    let cut = |reading: Reading| (Value::from(cut_to_grain(reading.value.as_str().unwrap_or_default(), options.min_grain)), reading.range);
    found.into_iter().map(cut).collect()
}

/// A day in its stored form that is as precise as a slot wants it.
fn read_stored(text: &str, options: DayOptions) -> Option<Value> {
    grain_of(text).filter(|grain| (options.min_grain..=options.max_grain).contains(grain)).map(|_| text.into())
}

/// The grain of a stored day; `None` for other texts.
fn grain_of(text: &str) -> Option<Grain> {
    let grain = match text.len() {
        4 => Grain::Year,
        7 => Grain::Month,
        10 => Grain::Day,
        _ => return None,
    };
    let whole = format!("{text}{}", "-01-01".get(text.len().checked_sub(4)?..)?);
    whole.parse::<jiff::civil::Date>().is_ok().then_some(grain)
}

/// A stored day without what is more precise than a grain.
fn cut_to_grain(day: &str, grain: Grain) -> &str {
    let length = match grain {
        Grain::Day => 10,
        Grain::Month => 7,
        Grain::Year => 4,
    };
    day.get(..length).unwrap_or(day)
}

/// Whether the second end of a range of numbers or amounts is not below the first.
fn is_ascending(range: &Value) -> bool {
    let number = |end: &str| {
        let value = range.get(end)?;
        value.as_f64().or_else(|| value.get("amount")?.as_str()?.parse().ok())
    };
    number("from").zip(number("to")).is_none_or(|it| it.0 <= it.1)
}

/// Whether the amounts at the ends of a range have the same currency.
fn has_one_currency(range: &Value) -> bool {
    let currency = |end: &str| range.get(end)?.get("currency");
    currency("from").zip(currency("to")).is_none_or(|it| it.0 == it.1)
}

/// Reads a text with the grammar of values.
fn parse<T>(text: &str, context: ExtractionContext<'_>, direction: Direction, read: impl FnOnce(&mut Parse) -> T) -> T {
    let values_context = values_context(context, direction);
    match context.parses {
        Some(parses) => parses.read(text, &values_context, read),
        None => read(&mut Parse::new(text, &values_context)),
    }
}

/// The locale and the moment as the grammar of values takes them.
fn values_context(context: ExtractionContext<'_>, direction: Direction) -> Context<'_> {
    let now = Date::in_zone(context.now, context.time_zone).to_civil();
    Context { locale: context.locale, now, direction }
}

/// Replaces the digits of Devanagari.
fn with_ascii_digits(text: &str) -> Cow<'_, str> {
    if !text.contains(is_devanagari_digit) {
        return Cow::Borrowed(text);
    }
    text.chars()
        .map(|character| if is_devanagari_digit(character) { char::from(b'0' + (u32::from(character) - 0x966) as u8) } else { character })
        .collect()
}

fn is_devanagari_digit(character: char) -> bool {
    matches!(character, '\u{966}'..='\u{96f}')
}

/// The position in a text of a position in the same text with ASCII digits.
fn source_position(text: &str, at: usize) -> usize {
    let mut ascii = 0;
    let mut characters = text.char_indices();
    let found = characters.find(|&(_, character)| {
        let is_reached = ascii >= at;
        ascii += if is_devanagari_digit(character) { 1 } else { character.len_utf8() };
        is_reached
    });
    found.map_or(text.len(), |it| it.0)
}

/// Normalizes a number: an integer if possible; `None` for integers too large to be exact.
pub(super) fn normalize_number(value: &Value) -> Option<Value> {
    if !value.is_f64() {
        return value.is_number().then(|| value.clone());
    }
    let number = value.as_f64()?;
    match number.fract() == 0.0 {
        true => (number.abs() < 9e15).then(|| (number as i64).into()),
        false => number.is_finite().then(|| number.into()),
    }
}
