//! Texts as tokens: words without case and accents, digits, and signs.

use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// Letters, folded.
    Word,
    /// ASCII digits.
    Digits,
    /// One character that is neither.
    Sign,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    /// Folded: lower case, without accents, digits in ASCII.
    pub text: String,
    /// Its place in the source, in bytes.
    pub range: Range<usize>,
    /// Whether white space or the beginning of the text is before it.
    pub is_spaced: bool,
    /// Whether a hyphen or an apostrophe joins it to the word before it.
    pub is_joined: bool,
    /// Whether it begins with a capital letter.
    pub is_upper: bool,
    /// Whether it is a word that is written with an accent.
    pub has_accent: bool,
}

impl Token {
    /// The sign; `None` for words and digits.
    pub fn sign(&self) -> Option<char> {
        if self.kind == TokenKind::Sign { self.text.chars().next() } else { None }
    }

    /// The sign, if it is directly behind the token before it.
    pub fn glued_sign(&self) -> Option<char> {
        self.sign().filter(|_| !self.is_spaced)
    }

    /// Whether it is one of several signs.
    pub fn is_sign_of(&self, signs: &str) -> bool {
        self.sign().is_some_and(|sign| signs.contains(sign))
    }

    /// Whether it is digits directly behind the token before them.
    pub fn is_glued_digits(&self) -> bool {
        self.kind == TokenKind::Digits && !self.is_spaced
    }

    /// Whether it is one of several words, separated by `|`.
    pub fn is_one_of(&self, words: &str) -> bool {
        words.split('|').any(|word| word == self.text)
    }
}

/// The token before a place.
pub(crate) fn token_before(tokens: &[Token], at: usize) -> Option<&Token> {
    tokens.get(at.checked_sub(1)?)
}

/// Whether digits follow directly behind one of several signs, which makes one thing of them and what is before.
pub(crate) fn is_continued(tokens: &[Token], end: usize, signs: &str) -> bool {
    let sign = tokens.get(end).and_then(Token::glued_sign);
    sign.is_some_and(|sign| signs.contains(sign)) && tokens.get(end + 1).is_some_and(Token::is_glued_digits)
}

/// Splits a text into tokens.
///
/// A hyphen or an apostrophe between letters is no token, nor are the points of `a.m.`, which is one word.
pub(crate) fn split_tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
    // Whether the last token may grow, and whether white space or a joint is before the next one.
    let (mut is_open, mut is_spaced, mut is_joined) = (false, true, false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let end = at + character.len_utf8();
        if is_mark(character) {
            if let Some(last) = tokens.last_mut().filter(|_| is_open) {
                last.range.end = end;
                last.has_accent = true;
            }
            continue;
        }
        if character.is_whitespace() {
            (is_open, is_spaced, is_joined) = (false, true, false);
            continue;
        }
        let is_after_word = is_open && tokens.last().is_some_and(|it| it.kind == TokenKind::Word);
        let is_before_letter = characters.peek().is_some_and(|it| it.1.is_alphabetic());
        if is_after_word && is_before_letter && is_joint(character) {
            (is_open, is_spaced, is_joined) = (false, false, true);
            continue;
        }
        let kind = match character {
            _ if to_digit(character).is_some() => TokenKind::Digits,
            _ if character.is_alphabetic() && !matches!(character, 'ª' | 'º') => TokenKind::Word,
            _ => TokenKind::Sign,
        };
        let grows = is_open && kind != TokenKind::Sign && tokens.last().is_some_and(|it| it.kind == kind);
        if !grows {
            tokens.push(Token {
                kind,
                text: String::new(),
                range: at..at,
                is_spaced,
                is_joined,
                is_upper: character.is_uppercase(),
                has_accent: false,
            });
        }
        if let Some(token) = tokens.last_mut() {
            token.range.end = end;
            match kind {
                TokenKind::Digits => token.text.extend(to_digit(character)),
                TokenKind::Word if character.is_ascii() => token.text.push(character.to_ascii_lowercase()),
                TokenKind::Word => {
                    for letter in normalizer.normalize_iter(std::iter::once(character)) {
                        if is_mark(letter) {
                            token.has_accent = true;
                        } else {
                            push_folded(letter, &mut token.text);
                        }
                    }
                }
                TokenKind::Sign => token.text.push(fold_sign(character)),
            }
        }
        (is_open, is_spaced, is_joined) = (kind != TokenKind::Sign, false, false);
    }
    join_initials(tokens)
}

/// Splits words that a language writes together; both parts have the place of the whole word.
pub(crate) fn split_joined(tokens: &mut Vec<Token>, joined_words: &[(&str, &str)]) {
    let is_in = |words: &str, word: &str| words.split('|').any(|it| it == word);
    let mut at = 0;
    while let Some(token) = tokens.get_mut(at) {
        let place = joined_words.iter().filter(|_| token.kind == TokenKind::Word).find_map(|(firsts, seconds)| {
            let first = firsts.split('|').find(|prefix| token.text.strip_prefix(prefix).is_some_and(|rest| is_in(seconds, rest)))?;
            Some(first.len())
        });
        if let Some(place) = place {
            let second = Token { text: token.text.split_off(place), is_spaced: false, is_joined: true, ..token.clone() };
            tokens.insert(at + 1, second);
        }
        at += 1;
    }
}

/// Folds words: lower case without accents, joints as blanks.
pub(crate) fn fold(text: &str) -> String {
    split_tokens(text).into_iter().map(|it| it.text).collect::<Vec<_>>().join(" ")
}

/// Makes one word of single letters with points, such as `a.m.`; the point behind the last letter belongs to it.
fn join_initials(tokens: Vec<Token>) -> Vec<Token> {
    let is_initial = |token: &Token| token.kind == TokenKind::Word && token.text.chars().count() == 1;
    let is_point = |token: &Token| token.glued_sign() == Some('.');
    if !tokens.iter().any(is_point) {
        return tokens;
    }
    let mut joined: Vec<Token> = Vec::with_capacity(tokens.len());
    // How many letters the last token is made of, and whether a point is behind them.
    let (mut letters, mut has_point) = (0, false);
    for token in tokens {
        let Some(last) = joined.last_mut().filter(|_| letters > 0) else {
            letters = usize::from(is_initial(&token));
            joined.push(token);
            continue;
        };
        if !has_point && is_point(&token) && (letters > 1 || last.range.end == token.range.start) {
            has_point = true;
            joined.push(token);
            continue;
        }
        let is_next = has_point && is_initial(&token) && !token.is_spaced;
        if has_point && (is_next || letters > 1) {
            // The point belongs to the word before it.
            let point = joined.pop();
            if let Some((word, point)) = joined.last_mut().zip(point) {
                word.range.end = point.range.end;
            }
        }
        if is_next {
            if let Some(word) = joined.last_mut() {
                word.text.push_str(&token.text);
                word.range.end = token.range.end;
            }
            (letters, has_point) = (letters + 1, false);
        } else {
            (letters, has_point) = (usize::from(is_initial(&token)), false);
            joined.push(token);
        }
    }
    if has_point && letters > 1 {
        let point = joined.pop();
        if let Some((word, point)) = joined.last_mut().zip(point) {
            word.range.end = point.range.end;
        }
    }
    joined
}

/// Accents, the nukta and the virama of Devanagari, joiners and soft hyphens.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{93c}' | '\u{94d}' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe0f}' | '\u{feff}')
}

fn is_joint(character: char) -> bool {
    matches!(character, '-' | '\u{2010}' | '\u{2011}' | '\'' | '’' | 'ʼ' | '`' | '´')
}

fn to_digit(character: char) -> Option<char> {
    let value = match character {
        '0'..='9' => return Some(character),
        '\u{966}'..='\u{96f}' => u32::from(character) - 0x966,
        '\u{ff10}'..='\u{ff19}' => u32::from(character) - 0xff10,
        _ => return None,
    };
    char::from_digit(value, 10)
}

fn fold_sign(character: char) -> char {
    match character {
        '−' | '–' | '—' | '‐' | '‑' => '-',
        '’' | 'ʼ' | '´' | '`' | '‘' => '\'',
        '⁄' | '∕' => '/',
        '％' => '%',
        '＄' => '$',
        '￥' => '¥',
        other => other,
    }
}

fn push_folded(character: char, out: &mut String) {
    match character {
        'ß' | 'ẞ' => out.push_str("ss"),
        'ı' => out.push('i'),
        'ł' | 'Ł' => out.push('l'),
        'ø' | 'Ø' => out.push('o'),
        'æ' | 'Æ' => out.push_str("ae"),
        'œ' | 'Œ' => out.push_str("oe"),
        other => out.extend(other.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let tokens = split_tokens(text);
        let shown = |it: &Token| format!("{}{}", if it.is_spaced { " " } else { "" }, it.text);
        tokens.iter().map(shown).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn a_text_is_split_into_words_digits_and_signs() {
        for (text, expected) in [
            ("5km", " 5|km"),
            ("$1,234.50", " $|1|,|234|.|50"),
            ("twenty-one", " twenty|one"),
            ("L’Aquila", " l|aquila"),
            ("at 7 p.m. today", " at| 7| pm| today"),
            ("I am A. Go", " i| am| a|.| go"),
            ("März — ２", " marz| -| 2"),
            ("ज़रूर १२", " जरूर| 12"),
            ("1½", " 1|½"),
            ("", ""),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn tokens_know_their_places() {
        let text = "Fünf €  à 7 p.m.";
        let places: Vec<&str> = split_tokens(text).iter().map(|token| &text[token.range.clone()]).collect();
        assert_eq!(places, ["Fünf", "€", "à", "7", "p.m."]);
    }
}
