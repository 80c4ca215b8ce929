//! Number format patterns: `0`, `0.00`, `#,##0.00`, `0%`.

use serde_json::Number;

use crate::text::decimal::Decimal;

/// The most digits after the point.
const MOST_PLACES: usize = 20;

/// How a number is formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Whether thousands are grouped.
    groups: bool,
    /// The fewest digits after the point.
    least: usize,
    /// The most digits after the point.
    most: usize,
    percent: bool,
}

impl Pattern {
    /// Parses a pattern.
    pub fn read(source: &str) -> Option<Pattern> {
        let (body, percent) = source.strip_suffix('%').map_or((source, false), |it| (it, true));
        let (whole, fraction) = match body.split_once('.') {
            Some((_, "")) => return None,
            Some(split) => split,
            None => (body, ""),
        };
        let zeros = fraction.trim_end_matches('#');
        let groups = match whole {
            "0" => false,
            "#,##0" => true,
            _ => return None,
        };
        let fits = fraction.len() <= MOST_PLACES && zeros.bytes().all(|it| it == b'0');
        fits.then_some(Pattern { groups, least: zeros.len(), most: fraction.len(), percent })
    }

    /// Formats a number with the separators of a locale.
    pub fn write(self, number: &Number, locale: &str) -> String {
        let (point, group) = signs(locale);
        let Decimal { negative, whole, fraction } = Decimal::new(number, if self.percent { 2 } else { 0 }).rounded(self.most);
        let mut text = String::from(if negative { "-" } else { "" });
        for (at, digit) in whole.chars().enumerate() {
            if self.groups && at > 0 && (whole.len() - at).is_multiple_of(3) {
                text.push(group);
            }
            text.push(digit);
        }
        let zeros = self.least.saturating_sub(fraction.len());
        if zeros + fraction.len() > 0 {
            text.push(point);
            text.push_str(&fraction);
            text.extend(std::iter::repeat_n('0', zeros));
        }
        if self.percent {
            text.push('%');
        }
        text
    }
}

/// Returns the decimal and the thousands separator of a locale.
fn signs(locale: &str) -> (char, char) {
    match locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "de" | "es" | "it" | "nl" | "pt" => (',', '.'),
        "fr" => (',', '\u{202F}'),
        _ => ('.', ','),
    }
}
