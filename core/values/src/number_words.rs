//! Numbers in digits and words, without their sign.

use crate::compiled_language::CompiledLanguage;
use crate::language::NumberWords;
use crate::lexicon::{Lexeme, Lexicon};
use crate::number::Number;
use crate::number_marks::Marks;
use crate::token::{Token, TokenKind, is_continued, token_before};

/// How a number is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberForm {
    /// In digits alone.
    Digits,
    /// A cardinal in words.
    Words,
    /// Two numbers that say a year: `nineteen ninety six`.
    YearWords,
    /// With a fraction or a multiplier behind digits: `1 1/2`, `2 million`.
    Mixed,
    /// A fraction of digits, which may be a date as well.
    Ratio,
    /// A number out of another: `two out of three`.
    Share,
    /// An ordinal, in digits or words.
    Ordinal,
    /// An article, which may be one of something.
    Article,
    /// A percentage; the value is the hundredth.
    Percent,
    /// Digits and a short multiplier that may also be a unit: `5m`.
    Short,
    /// Words that say a number in two ways: `one hundred thirty fifths`.
    Doubtful,
}

/// A number that begins at a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReadNumber {
    /// The token behind it.
    pub end: usize,
    pub value: Number,
    pub form: NumberForm,
}

/// Whether all numbers below hundred have words of their own.
fn has_all_words(words: &NumberWords) -> bool {
    words.cardinals.iter().filter(|it| it.1 < 100).count() >= 100
}

/// A number word in a text.
struct Step {
    lexeme: Lexeme,
    /// The token behind it; `None` within a word.
    end: Option<usize>,
    /// What else the word may be.
    other: Option<Lexeme>,
}

/// The numbers that begin at a token, the longest first.
pub(crate) fn read_numbers(tokens: &[Token], at: usize, language: &CompiledLanguage, marks: Marks) -> Vec<ReadNumber> {
    let words = &language.language.numbers;
    let mut found = Vec::new();
    let reader = Reader { tokens, language, words, lexicon: &language.grammar.lexicon };
    match tokens.get(at).map(|it| it.kind) {
        Some(TokenKind::Digits) => reader.read_digit_numbers(at, marks, &mut found),
        Some(TokenKind::Word) => reader.read_word_numbers(at, &mut found),
        Some(TokenKind::Sign) => reader.read_vulgar_fraction(at, marks, &mut found),
        None => {}
    }
    found.sort_by_key(|it: &ReadNumber| std::cmp::Reverse(it.end));
    found
}

struct Reader<'t> {
    tokens: &'t [Token],
    language: &'t CompiledLanguage,
    words: &'static NumberWords,
    lexicon: &'t Lexicon,
}

impl Reader<'_> {
    fn sign(&self, at: usize) -> Option<char> {
        self.tokens.get(at).and_then(Token::glued_sign)
    }

    /// Digits directly behind the token before them.
    fn glued_digits(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).filter(|it| it.is_glued_digits()).map(|it| it.text.as_str())
    }

    fn read_digit_numbers(&self, at: usize, marks: Marks, found: &mut Vec<ReadNumber>) {
        let read = read_digits(self.tokens, at, marks);
        let Some((value, end)) = read.or_else(|| self.read_pointed_groups(at, marks)) else { return };
        // "5th"
        // "1.º"
        let point = usize::from(self.sign(end) == Some('.') && matches!(self.sign(end + 1), Some('º' | 'ª')));
        let ordinal = self.tokens.get(end + point).filter(|token| !token.is_spaced && end == at + 1);
        if let Some(sign) = ordinal.filter(|_| self.glued_digits(end + 1).is_none()) {
            let is_ordinal = match sign.kind {
                TokenKind::Word => sign.is_one_of(self.words.ordinal_signs),
                TokenKind::Sign => matches!(sign.text.as_str(), "º" | "ª" | "°"),
                TokenKind::Digits => false,
            };
            if is_ordinal {
                found.push(ReadNumber { end: end + point + 1, value, form: NumberForm::Ordinal });
                return;
            }
        }
        found.push(ReadNumber { end, value, form: NumberForm::Digits });
        // "3/4", "1 1/2", "1½"
        if let Some((part, next)) = self.read_ratio(at).filter(|_| end == at + 1) {
            found.push(ReadNumber { end: next, value: part, form: NumberForm::Ratio });
        }
        let is_whole = value.to_integer().is_some();
        // "2 e 1/4"
        let ratio_at = self.read_phrase(self.words.and, end).unwrap_or(end);
        if is_whole
            && let Some((part, next)) = self.read_ratio(ratio_at).filter(|(ratio, _)| ratio.to_integer() != Some(0) && is_proper(*ratio))
            && let Some(value) = value.add(part)
        {
            found.push(ReadNumber { end: next, value, form: NumberForm::Mixed });
            return;
        }
        if let Some(part) = self.tokens.get(end).and_then(vulgar_fraction)
            && let Some(value) = value.add(part)
        {
            found.push(ReadNumber { end: end + 1, value, form: NumberForm::Mixed });
            return;
        }
        // "1.5e10", "10^5"
        if let Some((value, end)) = self.read_exponent(value, end) {
            found.push(ReadNumber { end, value, form: NumberForm::Mixed });
            return;
        }
        // "5k"
        if let Some(next) = self.tokens.get(end).filter(|token| !token.is_spaced && token.kind == TokenKind::Word) {
            let names = self.words.short_multipliers.iter().flat_map(|(names, by)| names.split('|').map(|name| (name, *by)));
            let mut short = names.filter(|(name, _)| name.strip_prefix('~').unwrap_or(name) == next.text);
            if let Some((name, by)) = short.next() {
                let form = if name.starts_with('~') && !next.is_upper { NumberForm::Short } else { NumberForm::Mixed };
                found.extend(value.multiply(Number::from_integer(by)).map(|value| ReadNumber { end: end + 1, value, form }));
                return;
            }
        }
        // "2 million", "5 and a half"
        if let Some(read) = self.compose(at, Some((value, end))).filter(|it| it.end > end) {
            found.push(ReadNumber { form: if read.form == NumberForm::Words { NumberForm::Mixed } else { read.form }, ..read });
        }
    }

    /// Reads an amount in digits that points group where blanks do: `94.000 €`, and not a price such as `1.459 €`.
    fn read_pointed_groups(&self, at: usize, marks: Marks) -> Option<(Number, usize)> {
        if marks.group != ' ' {
            return None;
        }
        let head = self.tokens.get(at).filter(|token| token.text.len() <= 3 && !token.text.starts_with('0'))?;
        let (mut digits, mut end) = (head.text.clone(), at + 1);
        while let Some(group) = self.glued_digits(end + 1).filter(|digits| self.sign(end) == Some('.') && digits.len() == 3) {
            digits.push_str(group);
            end += 2;
        }
        let is_currency = |at: usize| {
            let sign = self.tokens.get(at).and_then(Token::sign);
            sign.is_some_and(|sign| "$€£¥".contains(sign)) || self.language.grammar.currencies.is_name(self.tokens, at)
        };
        let is_amount = is_currency(end) && self.sign(end + 1) != Some('/') || at.checked_sub(1).is_some_and(is_currency);
        let is_clear = end > at + 3 || end == at + 3 && head.text.len() > 1;
        (is_amount && is_clear && !is_continued(self.tokens, end, NUMBER_SIGNS)).then(|| Some((Number::parse(&digits)?, end)))?
    }

    /// Reads `3/4`.
    fn read_ratio(&self, at: usize) -> Option<(Number, usize)> {
        let over = self.tokens.get(at).filter(|token| token.kind == TokenKind::Digits && !token.text.starts_with('0'))?;
        let slash = self.tokens.get(at + 1).and_then(Token::sign);
        let under = self.tokens.get(at + 2).filter(|token| token.kind == TokenKind::Digits && slash == Some('/'))?;
        let is_more = self.sign(at + 3) == Some('/') && self.glued_digits(at + 4).is_some();
        let value = Number::parse(&over.text)?.divide(Number::parse(&under.text)?)?;
        (!is_more).then_some((value, at + 3))
    }

    fn read_exponent(&self, value: Number, end: usize) -> Option<(Number, usize)> {
        let mark = self.tokens.get(end).filter(|it| !it.is_spaced)?;
        let is_power = mark.text == "^";
        if mark.text != "e" && !is_power {
            return None;
        }
        let (sign, at) = match self.sign(end + 1) {
            Some('+') => (1, end + 2),
            Some('-') => (-1, end + 2),
            _ => (1, end + 1),
        };
        let exponent: i32 = self.glued_digits(at)?.parse().ok()?;
        let value = if is_power {
            let power = (0..exponent.min(64)).try_fold(Number::ONE, |all, _| all.multiply(value))?;
            if sign > 0 { power } else { Number::ONE.divide(power)? }
        } else {
            value.multiply(Number::power_of_ten(sign * exponent)?)?
        };
        Some((value, at + 1))
    }

    fn read_vulgar_fraction(&self, at: usize, marks: Marks, found: &mut Vec<ReadNumber>) {
        if let Some(value) = self.tokens.get(at).and_then(vulgar_fraction) {
            found.push(ReadNumber { end: at + 1, value, form: NumberForm::Mixed });
        }
        // ".5"
        if self.tokens.get(at).and_then(Token::sign) == Some(marks.decimal)
            && let Some(digits) = self.glued_digits(at + 1)
            && let Some(value) = Number::parse(&format!("0.{digits}"))
        {
            found.push(ReadNumber { end: at + 2, value, form: NumberForm::Digits });
        }
    }

    fn read_word_numbers(&self, at: usize, found: &mut Vec<ReadNumber>) {
        // In "45.500 millions" the million is not read alone, whatever the digits are.
        let is_behind_digits = token_before(self.tokens, at).is_some_and(|it| it.kind == TokenKind::Digits);
        let is_multiplier =
            || self.lexicon.find(self.tokens, at).is_some_and(|(_, lexemes)| matches!(lexemes.first(), Some(Lexeme::Multiply(1_000..))));
        if is_behind_digits && is_multiplier() {
            return;
        }
        let Some(mut first) = self.compose(at, None) else { return };
        if self.is_verb(at, first.end) {
            first.form = NumberForm::Doubtful;
        }
        found.push(first);
        // "le sette e mezza" is an hour and a half one, not seven and a half.
        found.extend(
            self.compose_nested(at, None, false)
                .filter(|number| first.form == NumberForm::Mixed && number.form == NumberForm::Words && number.end < first.end),
        );
        // Only English says years so.
        if self.language.language.code != "en" {
            return;
        }
        let Some(century) = first.value.to_integer().filter(|century| first.form == NumberForm::Words && (10..=20).contains(century))
        else {
            return;
        };
        // "nineteen ninety six", "nineteen oh five"
        let next = self.tokens.get(first.end);
        let zero = usize::from(next.is_some_and(|token| token.text == "oh" || token.text == "o" || token.text == "zero"));
        let Some(rest) = self.compose(first.end + zero, None) else { return };
        let range = if zero == 1 { 1..=9 } else { 10..=99 };
        if let Some(rest_value) = rest.value.to_integer().filter(|value| rest.form == NumberForm::Words && range.contains(value)) {
            let value = Number::from_integer((century * 100 + rest_value).unsigned_abs());
            found.push(ReadNumber { end: rest.end, value, form: NumberForm::YearWords });
        }
    }

    /// Whether the last word of a number may be the verb of a clause: the last one, behind other words.
    fn is_verb(&self, at: usize, end: usize) -> bool {
        let is_word = |it: &Token| it.kind != TokenKind::Sign;
        let last = token_before(self.tokens, end).is_some_and(|token| self.lexicon.verbs.contains(token.text.as_str()));
        let is_behind = token_before(self.tokens, at).is_some_and(is_word);
        last && is_behind && !self.tokens.get(end).is_some_and(is_word)
    }

    /// The number words from a token on.
    fn steps(&self, mut at: usize) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        while steps.len() < 32 {
            // Words of a number are next to each other.
            let Some(token) = self.tokens.get(at) else { break };
            // "fifty - two"
            if token.sign() == Some('-')
                && !steps.is_empty()
                && self.tokens.get(at + 1).is_some_and(|it| it.kind == TokenKind::Word)
                && self.lexicon.find(self.tokens, at + 1).is_some()
            {
                at += 1;
                continue;
            }
            if token.kind == TokenKind::Digits && !steps.is_empty() {
                let Some(value) = Number::parse(&token.text) else { break };
                steps.push(Step { lexeme: Lexeme::Digits(value), end: Some(at + 1), other: None });
                at += 1;
                continue;
            }
            if let Some((length, lexemes)) = self.lexicon.find(self.tokens, at) {
                let (Some(lexeme), other) = (lexemes.first(), lexemes.get(1).copied()) else { break };
                at += length;
                // With an accent the article is the number: "één".
                let is_stressed = *lexeme == Lexeme::Article && token.range.len() > token.text.len();
                steps.push(Step { lexeme: other.filter(|_| is_stressed).unwrap_or(*lexeme), end: Some(at), other });
            } else if let Some(parts) = self.split_word(token) {
                at += 1;
                let last = parts.len() - 1;
                steps.extend(parts.into_iter().enumerate().map(|(index, (lexeme, other))| Step {
                    lexeme,
                    end: (index == last).then_some(at),
                    other,
                }));
            } else {
                break;
            }
        }
        steps
    }

    fn split_word(&self, token: &Token) -> Option<Vec<(Lexeme, Option<Lexeme>)>> {
        if !self.words.is_compound || token.kind != TokenKind::Word {
            return None;
        }
        self.lexicon.split_compound(&token.text)
    }

    /// Composes number words; `first` is a number in digits before them.
    fn compose(&self, at: usize, first: Option<(Number, usize)>) -> Option<ReadNumber> {
        self.compose_nested(at, first, true)
    }

    fn compose_nested(&self, at: usize, first: Option<(Number, usize)>, may_nest: bool) -> Option<ReadNumber> {
        let mut steps = self.steps(first.map_or(at, |it| it.1));
        if let Some((value, end)) = first {
            steps.insert(0, Step { lexeme: Lexeme::Digits(value), end: Some(end), other: None });
        }
        let mut sum = Sum::new(self.words);
        let mut read = None;
        let mut is_doubtful = false;
        let mut index = 0;
        while let Some(step) = steps.get(index) {
            let next = steps.get(index + 1);
            // "twenty and three fifths"
            let is_joined = matches!(next.map(|it| it.lexeme), Some(Lexeme::Add(1..10)))
                && sum.current.is_some()
                && JOINING_LANGUAGES.contains(&self.language.language.code);
            // "vinte e três quintos" are 23/5.
            let is_tens = is_joined && sum.room == 10;
            if step.lexeme == Lexeme::And
                && may_nest
                && !is_tens
                && step.end.and_then(|it| self.read_fraction(it)).is_some_and(|it| is_proper(it.value))
            {
                is_doubtful = is_joined && sum.room == 100;
                break;
            }
            if matches!(step.lexeme, Lexeme::Addition(..)) && !may_nest {
                break;
            }
            // In "thirty and two fifths" the fraction is only what is behind the conjunction.
            if step.lexeme == Lexeme::And && !may_nest {
                break;
            }
            // Neither a conjunction nor an article is taken without what it leads to.
            if step.lexeme == Lexeme::And
                && !(sum.accepts_and() && next.is_some_and(|next| sum.clone().take(next, steps.get(index + 2), true)))
            {
                break;
            }
            if !sum.take(step, next, false) {
                break;
            }
            index += 1;
            if let Some(end) = step.end.filter(|_| step.lexeme != Lexeme::And && sum.is_complete()) {
                read = Some((end, sum.clone()));
            }
        }
        let (mut end, sum) = read?;
        let mut form = sum.form();
        let mut value = sum.value()?;
        if matches!(form, NumberForm::Words | NumberForm::Article | NumberForm::Digits) {
            // "five point two five"
            if let Some((decimal, next)) = self.read_decimals(value, end) {
                (value, end, form) = (decimal, next, NumberForm::Mixed);
            } else if let Some((mixed, next)) =
                self.read_and_fraction(value, sum.unit(), end).filter(|_| may_nest && form != NumberForm::Article)
            {
                (value, end, form) = (mixed, next, NumberForm::Mixed);
            }
        }
        if form == NumberForm::Mixed && may_nest {
            // "eine Milliarde und eine halbe Million": the half is one of the second.
            if let Some((base, part)) = sum.addition
                && let Some((multiplier, next)) = self.read_multiplier(end, part)
            {
                let value = base.add(part.multiply(Number::from_integer(multiplier))?)?;
                return Some(ReadNumber { end: next, value, form });
            }
            // "half a million", "one point five million"
            while let Some((multiplier, next)) = self.read_multiplier(end, value) {
                (value, end) = (value.multiply(Number::from_integer(multiplier))?, next);
            }
        }
        // "five over six", and not "500 over six months"
        if let Some(next) = self.read_phrase(self.words.over, end)
            && matches!(form, NumberForm::Words | NumberForm::Article)
            && let Some(divisor) = self.compose_or_digits(next)
            && (next > end + 1 || self.tokens.get(divisor.1).is_none_or(|it| it.kind == TokenKind::Sign))
        {
            (value, end, form) = (value.divide(divisor.0)?, divisor.1, NumberForm::Share);
        }
        Some(ReadNumber { end, value, form: if is_doubtful { NumberForm::Doubtful } else { form } })
    }

    fn compose_or_digits(&self, at: usize) -> Option<(Number, usize)> {
        let token = self.tokens.get(at)?;
        if token.kind == TokenKind::Digits {
            let is_glued = self.tokens.get(at + 1).is_some_and(|token| token.kind == TokenKind::Word && !token.is_spaced);
            return if is_glued { None } else { Some((Number::parse(&token.text)?, at + 1)) };
        }
        let mut sum = Sum::new(self.words);
        let mut end = None;
        let steps = self.steps(at);
        for (index, step) in steps.iter().enumerate() {
            // "un sur vingt et un"
            let is_one = index > 0 && step.other == Some(Lexeme::Add(1));
            if step.lexeme == Lexeme::Article && !is_one || !sum.take(step, steps.get(index + 1), false) {
                break;
            }
            if step.lexeme != Lexeme::And {
                end = step.end.or(end);
            }
        }
        Some((sum.value().filter(|value| *value != Number::ZERO && !sum.is_ordinal)?, end?))
    }

    /// The token behind one of several phrases.
    fn read_phrase(&self, phrases: &str, at: usize) -> Option<usize> {
        let length = |phrase: &str| {
            let fits = phrase.split(' ').enumerate().all(|(index, word)| self.tokens.get(at + index).is_some_and(|it| it.text == word));
            fits.then(|| phrase.split(' ').count())
        };
        let longest = phrases.split('|').filter(|it| !it.is_empty()).filter_map(length).max()?;
        Some(at + longest)
    }

    fn read_decimals(&self, value: Number, at: usize) -> Option<(Number, usize)> {
        let doubtful = self.read_doubtful_point(at);
        let (value, end) = self.read_digits_behind(value, self.read_phrase(self.words.point, at).or(doubtful)?)?;
        let is_last = || {
            let is_sign = self.tokens.get(end).is_none_or(|it| it.kind == TokenKind::Sign);
            is_sign || self.read_phrase(self.words.percent, end).is_some() || self.language.grammar.currencies.is_name(self.tokens, end)
        };
        (doubtful.is_none() || is_last()).then_some((value, end))
    }

    /// A word for the decimal mark that is an ordinary word, too.
    fn read_doubtful_point(&self, at: usize) -> Option<usize> {
        let words = self.words.point.split('|').filter_map(|it| it.strip_prefix('~'));
        words.filter_map(|it| self.read_phrase(it, at)).max()
    }

    fn read_digits_behind(&self, value: Number, mut next: usize) -> Option<(Number, usize)> {
        let mut digits = String::new();
        while let Some(token) = self.tokens.get(next) {
            if token.kind == TokenKind::Digits && digits.is_empty() {
                digits.push_str(&token.text);
                next += 1;
                break;
            }
            let mut sum = Sum::new(self.words);
            let mut end = None;
            let steps = self.steps(next);
            for (index, step) in steps.iter().enumerate() {
                let is_small = matches!(step.lexeme, Lexeme::Add(_))
                    || step.other == Some(Lexeme::Add(1))
                    || step.lexeme == Lexeme::And && sum.accepts_and();
                if !is_small || !sum.take(step, steps.get(index + 1), false) {
                    break;
                }
                if step.lexeme != Lexeme::And {
                    end = step.end.or(end);
                }
            }
            let (Some(part), Some(end)) = (sum.value().and_then(Number::to_integer), end) else { break };
            digits.push_str(&part.to_string());
            next = end;
        }
        if digits.is_empty() || digits.len() > 18 {
            return None;
        }
        Some((value.add(Number::parse(&format!("0.{digits}"))?)?, next))
    }

    /// Reads `and three fifths` behind an integer.
    fn read_and_fraction(&self, value: Number, unit: u64, at: usize) -> Option<(Number, usize)> {
        let and = self.read_phrase(self.words.and, at).or_else(|| self.read_doubtful_point(at))?;
        let fraction = self.read_fraction(and)?;
        // "one billion and half a million": the fraction is one of the multiplier behind it.
        let scale = self.read_multiplier(fraction.end, fraction.value).filter(|_| unit > 1);
        let (of, end) = scale.unwrap_or((unit, fraction.end));
        (of <= unit).then_some(())?;
        Some((value.add(fraction.value.multiply(Number::from_integer(of))?)?, end))
    }

    /// Reads a fraction in words that is less than one.
    fn read_fraction(&self, at: usize) -> Option<ReadNumber> {
        self.compose_nested(at, None, false).filter(|number| number.form == NumberForm::Mixed && is_proper(number.value))
    }

    /// Reads `a million` or `of a million` behind a fraction.
    fn read_multiplier(&self, at: usize, value: Number) -> Option<(u64, usize)> {
        let of = self.read_phrase(self.words.of, at);
        let steps = self.steps(of.unwrap_or(at));
        let mut rest = steps.iter();
        let mut step = rest.next()?;
        if of.is_some() && !matches!(step.lexeme, Lexeme::Article | Lexeme::Multiply(1_000..)) {
            return None;
        }
        if step.lexeme == Lexeme::Article {
            if !is_proper(value) {
                return None;
            }
            step = rest.next()?;
        }
        match step.lexeme {
            Lexeme::Multiply(it) if it > 100 || is_proper(value) => Some((it, step.end?)),
            Lexeme::Group(it) => Some((it, step.end?)),
            _ => None,
        }
    }
}

/// Whether a number is between zero and one.
fn is_proper(value: Number) -> bool {
    value.to_decimal().map_or_else(|| value.to_json().and_then(|it| it.as_f64()).is_some_and(|it| it < 1.0), |it| it.starts_with("0."))
}

fn vulgar_fraction(token: &Token) -> Option<Number> {
    let (over, under) = match token.sign()? {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        _ => return None,
    };
    Number::new(over, under)
}

/// What the words of a number add up to so far.
#[derive(Clone)]
struct Sum<'w> {
    words: &'w NumberWords,
    /// Finished groups: thousands, millions.
    total: Number,
    /// The group that is being read.
    current: Option<Number>,
    /// A number that follows must be less.
    room: u64,
    /// The last multiplier of a thousand or more.
    ceiling: u64,
    /// The total and the ceiling before the last multiplier.
    before: (Number, u64),
    /// A fraction that the next number gets.
    prefix: Option<Number>,
    /// The number before a fraction that was added to it, and the fraction.
    addition: Option<(Number, Number)>,
    is_ordinal: bool,
    is_fraction: bool,
    has_article: bool,
    is_after_and: bool,
    has_and: bool,
    /// Whether it began with digits.
    is_digits: bool,
    is_doubtful: bool,
    /// Whether nothing may follow.
    is_closed: bool,
    count: usize,
}

impl<'w> Sum<'w> {
    fn new(words: &'w NumberWords) -> Sum<'w> {
        Sum {
            words,
            total: Number::ZERO,
            current: None,
            room: u64::MAX,
            ceiling: u64::MAX,
            before: (Number::ZERO, u64::MAX),
            prefix: None,
            addition: None,
            is_ordinal: false,
            is_fraction: false,
            has_article: false,
            is_after_and: false,
            has_and: false,
            is_digits: false,
            is_doubtful: false,
            is_closed: false,
            count: 0,
        }
    }

    fn value(&self) -> Option<Number> {
        self.total.add(self.current.unwrap_or(Number::ZERO))
    }

    /// What a fraction behind the number is a part of: of a million in `six million and two thirds`.
    fn unit(&self) -> u64 {
        if self.current.is_none() && (1_000_000..u64::MAX).contains(&self.ceiling) { self.ceiling } else { 1 }
    }

    fn is_complete(&self) -> bool {
        self.prefix.is_none() && (self.current.is_some() || self.total != Number::ZERO)
    }

    fn form(&self) -> NumberForm {
        if self.is_doubtful {
            NumberForm::Doubtful
        } else if self.is_ordinal {
            NumberForm::Ordinal
        } else if self.is_fraction {
            NumberForm::Mixed
        } else if self.has_article && self.count == 1 {
            NumberForm::Article
        } else {
            NumberForm::Words
        }
    }

    /// Whether a conjunction may follow.
    fn accepts_and(&self) -> bool {
        let is_small = self.current.and_then(Number::to_integer).is_some_and(|value| (1..10).contains(&(value % 100)));
        let is_before_tens = self.words.has_ones_first && is_small;
        let is_group_done = self.current.is_none() && self.total != Number::ZERO;
        !self.is_closed && !self.has_article && (is_before_tens || is_group_done || self.room >= 10 && self.current.is_some())
    }

    fn room_of(&self, value: u64) -> u64 {
        match value {
            0 => 0,
            _ if value.is_multiple_of(1000) => 1000,
            _ if value.is_multiple_of(100) => 100,
            _ if self.words.tens_before_teens.contains(&value) => 20,
            20.. if value.is_multiple_of(10) && !self.words.has_ones_first && !has_all_words(self.words) => 10,
            _ => 0,
        }
    }

    /// Takes a word; answers whether it continues the number. `next` is the word behind it.
    fn take(&mut self, step: &Step, next: Option<&Step>, is_after_and: bool) -> bool {
        if self.is_closed {
            return false;
        }
        let is_first = self.current.is_none() && self.total == Number::ZERO;
        self.is_after_and |= is_after_and;
        let is_taken = match step.lexeme {
            Lexeme::And => {
                (self.is_after_and, self.has_and) = (true, true);
                return true;
            }
            Lexeme::Article => {
                let leads = next.is_some_and(|next| {
                    let is_base = |lexeme: Lexeme| matches!(lexeme, Lexeme::Multiply(_) | Lexeme::Group(_) | Lexeme::Part(_));
                    is_base(next.lexeme) || next.other.is_some_and(is_base)
                });
                let is_ones = self.words.has_ones_first && next.is_some_and(|it| it.lexeme == Lexeme::And);
                if is_first && (leads || is_ones || self.count == 0) {
                    self.has_article = !is_ones && !leads;
                    self.current = Some(Number::ONE);
                    self.room = 0;
                    // Nothing but what it leads to may follow.
                    self.is_closed = !leads && !is_ones;
                    true
                } else if self.room > 1
                    && (step.other == Some(Lexeme::Add(1)) || self.words.cardinals.iter().any(|it| it.1 == 1) && self.is_after_and)
                {
                    // "veintiún", "vingt et un"
                    self.add(1)
                } else {
                    false
                }
            }
            Lexeme::Digits(value) => {
                let is_group = next.is_some_and(|next| matches!(next.lexeme, Lexeme::Multiply(by) if by < self.ceiling));
                let small = value.to_integer().and_then(|value| u64::try_from(value).ok()).filter(|it| *it > 0);
                // "two thousand 500"
                let is_rest = self.current.is_none() && self.ceiling == 1000 && !is_group;
                if let Some(small) = small.filter(|small| !is_first && self.current.is_some() && *small < self.room && self.room >= 100) {
                    self.add(small)
                } else if let Some(small) = small.filter(|small| !is_first && is_rest && (100..1000).contains(small)) {
                    self.add(small)
                } else if is_first || self.current.is_none() && is_group {
                    self.is_digits = true;
                    self.current = Some(self.with_prefix(value));
                    self.room = 0;
                    true
                } else {
                    false
                }
            }
            Lexeme::Add(value) => {
                // The word for one is an article as well: French `un`.
                let is_article = is_first && step.other == Some(Lexeme::Article);
                let is_added = self.add(value);
                self.has_article |= is_added && is_article;
                is_added
            }
            Lexeme::Fraction(over, under) => {
                let value = Number::new(over.into(), under.into());
                let can = self.current.is_none();
                (self.current, self.is_fraction, self.room) = (value.filter(|_| can).or(self.current), true, 0);
                can
            }
            Lexeme::Prefix(over, under) => {
                let can = self.current.is_none() && self.prefix.is_none();
                self.prefix = Number::new(over.into(), under.into());
                self.is_fraction = true;
                can
            }
            // "between five hundred and thousand"
            Lexeme::Multiply(by) if by >= 1000 && self.is_after_and => false,
            Lexeme::Multiply(by) => self.multiply(by, is_first),
            Lexeme::Group(by) => {
                // "three hundred and two dozen" is 302 dozen, or 324.
                self.is_doubtful |= self.has_and;
                let base = self.value().filter(|it| *it != Number::ZERO).unwrap_or(Number::ONE);
                (self.total, self.current, self.is_closed) = (base.multiply(Number::from_integer(by)).unwrap_or(Number::ZERO), None, true);
                self.has_article = false;
                true
            }
            Lexeme::Ordinal(value) => {
                // "two thirds"
                if let Some(Lexeme::Part(part)) = step.other
                    && !is_first
                    && !self.is_ordinal
                    && self.room == 0
                {
                    return self.divide(part);
                }
                self.take_ordinal(value)
            }
            Lexeme::OrdinalEnding => {
                (self.is_ordinal, self.is_closed) = (true, true);
                !is_first
            }
            Lexeme::Part(part) => {
                if !is_first && self.room > part {
                    if let Some(Lexeme::Ordinal(value)) = step.other {
                        return self.take_ordinal(value);
                    }
                    self.is_doubtful = true;
                }
                if is_first {
                    if let Some(Lexeme::Ordinal(value)) = step.other {
                        return self.take_ordinal(value);
                    }
                    self.current = Some(Number::ONE);
                }
                // "two hundredth" is the 200th, "two hundredths" are 0.02.
                if let Some(Lexeme::Ordinal(value)) = step.other.filter(|_| part >= 100 && self.current.is_some_and(|it| it != Number::ONE))
                {
                    return self.take_ordinal(value);
                }
                self.divide(part)
            }
            Lexeme::Addition(over, under) => {
                let Some(part) = Number::new(over.into(), under.into()).filter(|_| !is_first) else { return false };
                let unit = if self.current.is_none() && self.ceiling < u64::MAX { self.ceiling } else { 1 };
                self.addition = self.value().zip(Some(part)).filter(|_| unit > 1);
                let Some(value) = part.multiply(Number::from_integer(unit)).and_then(|rest| self.value()?.add(rest)) else { return false };
                (self.total, self.current, self.room, self.is_fraction) = (Number::ZERO, Some(value), 0, true);
                self.has_article = false;
                self.ceiling = u64::MAX;
                // "a billion and half a million"
                self.is_closed = unit > 1;
                true
            }
        };
        if is_taken {
            self.count += 1;
            self.is_after_and = false;
        }
        is_taken
    }

    fn with_prefix(&mut self, value: Number) -> Number {
        self.prefix.take().and_then(|it| it.add(value)).unwrap_or(value)
    }

    fn add(&mut self, value: u64) -> bool {
        let number = Number::from_integer(value);
        let Some(current) = self.current else {
            if self.total != Number::ZERO && (value >= self.ceiling || value == 0) {
                return false;
            }
            self.current = Some(self.with_prefix(number));
            self.room = self.room_of(value);
            return true;
        };
        let small = current.to_integer().filter(|value| (1..10).contains(value));
        let is_tens = (20..=90).contains(&value) && value.is_multiple_of(10);
        let is_ones_first = self.words.has_ones_first && self.is_after_and && is_tens;
        if is_ones_first && (small.is_some() || current.to_integer().is_some_and(|value| (1..10).contains(&(value % 100)))) {
            self.current = current.add(number);
            self.room = 0;
            self.has_article = false;
            return self.current.is_some();
        }
        if value == 0 || value >= self.room {
            return false;
        }
        self.current = current.add(number);
        // Behind hundreds, ones may still be followed by tens.
        self.room = self.room_of(value);
        self.current.is_some()
    }

    fn multiply(&mut self, by: u64, is_first: bool) -> bool {
        let factor = Number::from_integer(by);
        // "one billion and a half million"
        if let Some((base, part)) = self.addition.take() {
            self.current = part.multiply(factor).and_then(|it| base.add(it));
            self.is_closed = true;
            return self.current.is_some();
        }
        let is_alone = self.current.is_none();
        self.has_article = false;
        if by == 100 {
            let base = match self.current {
                Some(it) => it,
                None if is_first || self.words.is_one_implied || self.is_after_and || self.ceiling > 100 => self.with_prefix(Number::ONE),
                None => return false,
            };
            let limit = if self.is_digits { 10_000 } else { 100 };
            let is_small = base.to_integer().is_none_or(|base| (1..limit).contains(&base));
            self.current = if is_small { base.multiply(factor) } else { None };
            self.room = 100;
            return is_small && self.current.is_some();
        }
        if by < self.ceiling {
            if is_alone && !is_first && !self.words.is_one_implied {
                return false;
            }
            let base = self.current.unwrap_or_else(|| self.with_prefix(Number::ONE));
            let Some(total) = base.multiply(factor).and_then(|it| self.total.add(it)) else { return false };
            self.before = (self.total, self.ceiling);
            (self.total, self.current, self.ceiling, self.room) = (total, None, by, by);
            return base != Number::ZERO;
        }
        // "thousand and two thousand"
        if by == self.ceiling {
            return false;
        }
        // "two thousand million", also behind "three billion" in languages with the long scale.
        let high = if by < self.before.1 { self.before.0 } else { Number::ZERO };
        let Some(total) = self.value().and_then(|value| value.add(high.negate())?.multiply(factor)?.add(high)) else { return false };
        (self.total, self.current, self.ceiling, self.room) = (total, None, by, by);
        true
    }

    fn take_ordinal(&mut self, value: u64) -> bool {
        let number = Number::from_integer(value);
        // "fifty thousandth", "thousandth third"
        if value >= 1000 && !self.is_ordinal {
            let is_first = self.current.is_none() && self.total == Number::ZERO;
            self.is_ordinal = true;
            return self.multiply(value, is_first);
        }
        let is_multiplier =
            value >= 100 && self.current.is_some_and(|value| value.to_integer().is_some_and(|number| number < 100 && number > 0));
        let sum = match self.current {
            Some(current) if is_multiplier && !self.is_ordinal => current.multiply(number),
            Some(current) if value < self.room => current.add(number),
            Some(_) => None,
            None if value < self.ceiling || self.total == Number::ZERO => Some(number),
            None => None,
        };
        let Some(sum) = sum else { return false };
        self.current = Some(sum);
        self.room = self.room_of(value);
        self.is_ordinal = true;
        self.has_article = false;
        true
    }

    fn divide(&mut self, by: u64) -> bool {
        let Some(value) = self.value().and_then(|value| value.divide(Number::from_integer(by))) else { return false };
        (self.total, self.current, self.is_fraction, self.is_closed) = (Number::ZERO, Some(value), true, true);
        self.has_article = false;
        true
    }
}

/// Languages that join tens and ones with a conjunction, so that a fraction behind both is one of their sum.
const JOINING_LANGUAGES: [&str; 2] = ["es", "pt"];

/// The signs within a number in digits.
const NUMBER_SIGNS: &str = ".,'";

/// Reads digits with their groups and decimals; `None` when the marks leave a doubt.
fn read_digits(tokens: &[Token], at: usize, marks: Marks) -> Option<(Number, usize)> {
    let first = tokens.get(at).filter(|it| it.kind == TokenKind::Digits)?;
    // The groups, and the marks between them.
    let mut groups = vec![first.text.as_str()];
    let mut between = Vec::new();
    let mut end = at + 1;
    while let Some(token) = tokens.get(end) {
        let mark = token.glued_sign().filter(|sign| matches!(sign, '.' | ',' | '\''));
        let behind = tokens.get(end + 1).filter(|it| it.is_glued_digits());
        if let Some((mark, digits)) = mark.zip(behind) {
            groups.push(&digits.text);
            between.push(mark);
            end += 2;
        } else if token.kind == TokenKind::Digits
            && token.is_spaced
            && token.text.len() == 3
            && groups.first().is_some_and(|group| group.len() <= 3 && !group.starts_with('0'))
            && between.iter().all(|mark| *mark == ' ')
        {
            groups.push(&token.text);
            between.push(' ');
            end += 1;
        } else {
            break;
        }
    }
    let is_group = |mark: char| mark == marks.group || mark == '\'' || mark == ' ';
    let is_grouped = |groups: &[&str]| {
        let Some((head, rest)) = groups.split_first() else { return false };
        let (last, middle) = rest.split_last().map_or(("", rest), |(last, middle)| (*last, middle));
        let sized = (1..=3).contains(&head.len()) && last.len() == 3;
        let is_plain = sized && middle.iter().all(|group| group.len() == 3);
        let is_indian = marks.is_indian || marks.group == ',' && !middle.is_empty();
        is_plain || is_indian && sized && head.len() <= 2 && middle.iter().all(|group| group.len() == 2)
    };
    let number = |groups: &[&str], decimals: Option<&str>| {
        let whole = groups.concat();
        Number::parse(&decimals.map_or(whole.clone(), |it| format!("{whole}.{it}")))
    };
    let value = match between.as_slice() {
        [] => number(&groups, None),
        all if all.iter().all(|mark| is_group(*mark) && Some(mark) == all.first()) && is_grouped(&groups) => number(&groups, None),
        [.., last] => {
            let (decimals, whole) = groups.split_last()?;
            let before = between.get(..between.len() - 1).unwrap_or_default();
            let is_uniform = before.windows(2).all(|pair| pair.first() == pair.last());
            // Where blanks group digits, a point does not: "12.50", but not "1.250".
            let is_point = *last == '.' && marks.group == ' ' && before.is_empty() && decimals.len() != 3;
            let is_decimal = *last == marks.decimal
                || is_point
                || before.first().is_some_and(|mark| is_mark(*mark) && *mark != *last && *last != ' ' && is_mark(*last));
            let is_right = before.is_empty() || is_uniform && is_grouped(whole) && before.first() != Some(last);
            if is_decimal && is_right { number(whole, Some(decimals)) } else { None }
        }
    }?;
    (!is_continued(tokens, end, NUMBER_SIGNS)).then_some((value, end))
}

fn is_mark(mark: char) -> bool {
    matches!(mark, '.' | ',' | '\'' | ' ')
}
