//! Currencies: their codes, their names in a language, and which of them a sign or a name is in a region.

use std::collections::BTreeMap;

use crate::language::Language;
use crate::token::{Token, TokenKind};

/// ISO 4217 codes that are also accepted in lower case; the others could be words.
pub(crate) const LOWER_CASE_CODES: &str = "USD EUR GBP JPY CHF CAD AUD NZD CNY INR SEK NOK DKK PLN CZK HUF BRL MXN ZAR SGD HKD KRW TRY RUB AED SAR THB ILS RON \
                                UAH IDR PHP VND MYR CLP ARS COP";

/// The other codes of ISO 4217.
const OTHER_CODES: &str = "AFN ALL AMD ANG AOA AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BSD BTN BWP BYN BZD CDF CRC CUP CVE DJF DOP DZD EGP ERN \
                           ETB FJD FKP GEL GHS GIP GMD GNF GTQ GYD HNL HTG IQD IRR ISK JMD JOD KES KGS KHR KMF KPW KWD KYD KZT LAK LBP LKR LRD LSL \
                           LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MZN NAD NGN NIO NPR OMR PAB PEN PGK PKR PYG QAR RSD RWF SBD SCR SDG SHP \
                           SLE SOS SRD SSP STN SVC SYP SZL TJS TMT TND TOP TTD TWD TZS UGX UYU UZS VED VES VUV WST XAF XCD XOF XPF YER ZMW ZWG";

/// The dollar of a region, if it is not that of the United States.
const REGIONAL_DOLLARS: [(&str, &str); 9] =
    [("CA", "CAD"), ("AU", "AUD"), ("NZ", "NZD"), ("SG", "SGD"), ("HK", "HKD"), ("MX", "MXN"), ("AR", "ARS"), ("CL", "CLP"), ("CO", "COP")];

/// The length of a code.
pub(crate) const CODE_LENGTH: usize = 3;

/// A currency by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CurrencyName {
    /// ISO 4217, or `$`, `¥`, `peso` or `kr`, which the locale decides.
    pub code: &'static str,
    /// Whether the name is also an ordinary word.
    pub is_word: bool,
}

/// Names of currencies by their first word, longer ones first.
#[derive(Debug, Default)]
pub(crate) struct CurrencyNames {
    names: BTreeMap<&'static str, Vec<(Vec<&'static str>, CurrencyName)>>,
    pub cents: BTreeMap<&'static str, &'static str>,
}

impl CurrencyNames {
    /// Compiles the names of a language; a `~` before a name says that it is an ordinary word, too.
    pub fn new(language: &Language) -> CurrencyNames {
        let mut all = CurrencyNames::default();
        for (names, code) in language.currencies {
            for name in names.split('|') {
                let plain = name.strip_prefix('~').unwrap_or(name);
                let mut words = plain.split(' ');
                let Some(first) = words.next() else { continue };
                let name = CurrencyName { code, is_word: plain.len() < name.len() };
                all.names.entry(first).or_default().push((words.collect(), name));
            }
        }
        all.names.values_mut().for_each(|names| names.sort_by_key(|name| std::cmp::Reverse(name.0.len())));
        for (names, codes) in language.cents {
            names.split('|').for_each(|name| _ = all.cents.insert(name, codes));
        }
        all
    }

    /// Whether a word is the name of a hundredth part.
    pub fn is_cents(&self, word: &str) -> bool {
        self.cents.contains_key(word)
    }

    /// Whether a name is at a token.
    pub fn is_name(&self, tokens: &[Token], at: usize) -> bool {
        self.find(tokens, at).is_some()
    }

    /// The name at a token, and the token behind it.
    pub fn find(&self, tokens: &[Token], at: usize) -> Option<(usize, CurrencyName)> {
        let first = tokens.get(at).filter(|it| it.kind == TokenKind::Word)?;
        let fits =
            |rest: &[&str]| rest.iter().enumerate().all(|(index, word)| tokens.get(at + 1 + index).is_some_and(|it| it.text == *word));
        let (rest, name) = self.names.get(first.text.as_str())?.iter().find(|it| fits(&it.0))?;
        Some((at + 1 + rest.len(), *name))
    }
}

/// The currency that a dollar sign is in a region.
pub(crate) fn dollar_of(region: &str) -> &'static str {
    REGIONAL_DOLLARS.iter().find(|it| it.0 == region).map_or("USD", |it| it.1)
}

/// The currency that a peso is in a region.
pub(crate) fn peso_of(region: &str) -> Option<&'static str> {
    match region {
        "MX" => Some("MXN"),
        "AR" => Some("ARS"),
        "CL" => Some("CLP"),
        "CO" => Some("COP"),
        "UY" => Some("UYU"),
        "DO" => Some("DOP"),
        "CU" => Some("CUP"),
        "PH" => Some("PHP"),
        _ => None,
    }
}

/// The currency that `kr` is in a region, or in a language.
pub(crate) fn krona_of(language: &str, region: &str) -> Option<&'static str> {
    match (language, region) {
        (_, "SE") | ("sv", _) => Some("SEK"),
        (_, "DK") | ("da", _) => Some("DKK"),
        (_, "NO") | ("nb" | "nn" | "no", _) => Some("NOK"),
        (_, "IS") => Some("ISK"),
        _ => None,
    }
}

/// The currency of a region, or of the language's own region.
pub(crate) fn own_currency(language: &str, region: &str) -> Option<&'static str> {
    Some(match (language, region) {
        (_, "US") => "USD",
        (_, "GB") => "GBP",
        (_, "CA") => "CAD",
        (_, "AU") => "AUD",
        (_, "NZ") => "NZD",
        (_, "IN") => "INR",
        (_, "BR") => "BRL",
        (_, "MX") => "MXN",
        (_, "CH" | "LI") => "CHF",
        (_, "ZA") => "ZAR",
        (_, "SG") => "SGD",
        (_, "HK") => "HKD",
        (_, "IE" | "DE" | "AT" | "FR" | "BE" | "NL" | "LU" | "IT" | "ES" | "PT" | "FI" | "GR") => "EUR",
        ("pt", "") => "BRL",
        ("en", "") => "USD",
        ("hi", "") => "INR",
        ("de" | "fr" | "es" | "it" | "nl", "") => "EUR",
        _ => return None,
    })
}

/// Whether a code in upper case is a currency of ISO 4217.
pub fn is_code(code: &str) -> bool {
    lists(LOWER_CASE_CODES, code) || lists(OTHER_CODES, code)
}

/// Whether a list of codes has one.
pub(crate) fn lists(codes: &str, code: &str) -> bool {
    // A list has codes of this length between blanks, so that letters alone are found as a code or not at all.
    code.len() == CODE_LENGTH && code.bytes().all(|it| it.is_ascii_uppercase()) && codes.contains(code)
}
