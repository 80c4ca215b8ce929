//! `@phone`: phone numbers, in international form when the region determines it.

use std::ops::Range;

use super::locale::region;
use super::phone_extension::{self, Extension};
use super::phone_plan::{National, Plan, read_international};

/// Separators between digits.
const SEPARATORS: &str = " \u{a0}\u{202f}().-–/";

/// Signs in front of digits that are no phone number: `#20020211895`, `E-151673398`, `45*31-339243873`.
const BARRED_BEFORE: &str = "-–#*.=_@$€£₹%";

/// Words before a number that say what it is instead, in all languages.
const OTHER_NUMBERS: [&str; 60] = [
    "account",
    "acct",
    "card",
    "iban",
    "imei",
    "invoice",
    "isbn",
    "order",
    "ssn",
    "aadhaar",
    "bsn",
    "cnpj",
    "cpf",
    "id",
    "nif",
    "passport",
    "reference",
    "siren",
    "siret",
    "ticket",
    "tracking",
    "vat",
    "konto",
    "kontonummer",
    "karte",
    "kartennummer",
    "rechnung",
    "rechnungsnummer",
    "bestellung",
    "bestellnummer",
    "ausweisnummer",
    "steuernummer",
    "cuenta",
    "tarjeta",
    "factura",
    "pedido",
    "pasaporte",
    "compte",
    "carte",
    "facture",
    "commande",
    "conto",
    "carta",
    "fattura",
    "ordine",
    "iva",
    "conta",
    "cartão",
    "fatura",
    "rekening",
    "rekeningnummer",
    "kaart",
    "factuur",
    "bestelling",
    "खाता",
    "खाते",
    "कार्ड",
    "चालान",
    "ऑर्डर",
    "आधार",
];

/// The same for phones.
const PHONES: [&str; 27] = [
    "call",
    "cell",
    "fax",
    "mobile",
    "phone",
    "tel",
    "telephone",
    "whatsapp",
    "anrufen",
    "handy",
    "handynummer",
    "telefon",
    "telefonnummer",
    "llamar",
    "móvil",
    "teléfono",
    "portable",
    "téléphone",
    "cellulare",
    "telefono",
    "celular",
    "telefone",
    "telemóvel",
    "mobiel",
    "telefoonnummer",
    "फ़ोन",
    "मोबाइल",
];

/// How many words before a number may say what it is.
const NAMING_WORDS: usize = 4;

/// The most digits without a calling code, which cards exceed, where the region is not known.
const NATIONAL_DIGITS: usize = 12;

/// What is dialled in North America before a calling code.
const DIALLED_ABROAD: &str = "011";

/// The number of digits of a phone number.
const DIGIT_COUNT: std::ops::RangeInclusive<usize> = 7..=15;

/// Returns the phone numbers of a text with their places.
pub(super) fn find_all(text: &str, locale: &str) -> impl Iterator<Item = (String, Range<usize>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
            let (before, from) = rest.split_at(start);
            let run = leading_digits(from);
            let (outside, behind) = (before.trim_end_matches(['(', '+']), from.get(run.len()..)?);
            let is_plus = before.get(outside.len()..)?.contains('+');
            let begin = text.len() - rest.len() + outside.len();
            rest = behind;
            // Digits next to letters are ids, and next to signs parts of formulas.
            let before = text.get(..begin)?;
            let name = find_name(before);
            let is_barred = before.ends_with(|character: char| character.is_alphanumeric() || BARRED_BEFORE.contains(character))
                || is_other_pattern(run)
                || !is_plus && (name == Some(Name::Other) || is_part_of_iban(before));
            let is_called_phone = name == Some(Name::Phone);
            let Some(number) = (!is_barred).then(|| to_international(run, is_plus, is_called_phone, locale)).flatten() else { continue };
            let end = text.len() - behind.len();
            match phone_extension::read(behind, number.starts_with('+')) {
                Extension::Digits(extension, length) => {
                    rest = behind.get(length..)?;
                    return Some((number + ";ext=" + &extension, begin..end + length));
                }
                Extension::Unclear(length) => rest = behind.get(length..)?,
                Extension::None if behind.starts_with(char::is_alphanumeric) => {}
                Extension::None => return Some((number, begin..end)),
            }
        }
        None
    })
}

/// Returns the leading digits of a text with at most three separators in a row.
fn leading_digits(text: &str) -> &str {
    let (mut end, mut signs) = (0, 0);
    for (at, character) in text.char_indices() {
        if character.is_ascii_digit() {
            (end, signs) = (at + 1, 0);
        } else if SEPARATORS.contains(character) && signs < 3 {
            signs += 1;
        } else {
            break;
        }
    }
    text.get(..end).unwrap_or_default()
}

fn to_international(run: &str, is_plus: bool, is_called_phone: bool, locale: &str) -> Option<String> {
    let digits = digits_of(run);
    let is_as_long = (*DIGIT_COUNT.start()..=NATIONAL_DIGITS).contains(&digits.len());
    let plan = Plan::of_region(&region(locale));
    let dialled = [plan.map_or("00", |it| it.abroad), "00"].into_iter().find(|it| digits.starts_with(it));
    if let Some(prefix) = if is_plus { Some("") } else { dialled } {
        // `(0)` is a trunk prefix almost everywhere, and so is the zero of `(020)`.
        let without_trunk = digits_of(&run.replacen("(0", "(", 1));
        let number = read_international(digits.strip_prefix(prefix)?, without_trunk.strip_prefix(prefix)?)?;
        return DIGIT_COUNT.contains(&number.len()).then(|| "+".to_owned() + &number);
    }
    let Some(plan) = plan else {
        let is_abroad = digits.len() <= *DIGIT_COUNT.end() && digits.starts_with(DIALLED_ABROAD);
        return (is_as_long || is_abroad).then_some(digits);
    };
    let international = |number: String| Some(["+", plan.code, &number].concat());
    let is_apart = run.strip_prefix(plan.code).is_some_and(|rest| rest.starts_with(|character: char| SEPARATORS.contains(character)));
    if digits.len() < *DIGIT_COUNT.start() {
        return None;
    }
    match (plan.read_national(&digits), is_apart.then(|| plan.read_own_code(&digits)).flatten()) {
        (National::Complete(number), _) | (_, Some(number)) => international(number),
        (National::Unclear, None) => Some(digits),
        // Somebody who calls it a phone number has one of another country, or without its area code.
        (National::Impossible, None) => (is_called_phone && is_as_long).then_some(digits),
    }
}

fn digits_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Whether digits are grouped as other numbers: as years (`2009/2010`), numbers of social security (`911-67-0060`) or of taxpayers
/// (`123.456.789-09`), addresses of machines (`192.168.1.10`), times (`10.30-11.30`), decimals (`52.520008`), or by nested parentheses.
fn is_other_pattern(run: &str) -> bool {
    let groups: Vec<&str> = run.split(|it: char| !it.is_ascii_digit()).filter(|it| !it.is_empty()).collect();
    let lengths: Vec<usize> = groups.iter().map(|it| it.len()).collect();
    let is_below = |part: &str, limit: u32| part.parse().is_ok_and(|number: u32| number < limit);
    let has_only = |sign: char| run.bytes().all(|byte| byte.is_ascii_digit() || char::from(byte) == sign);
    let is_year = |part: &&str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    let is_time =
        |part: &str| part.split_once('.').is_some_and(|(hour, minute)| minute.len() == 2 && is_below(hour, 24) && is_below(minute, 60));
    let is_octet = |part: &&str| is_below(part, 256) && (part.len() == 1 || !part.starts_with('0'));
    // "12.34.56.78" is a Danish number as well.
    let is_address = has_only('.') && groups.len() == 4 && groups.iter().all(is_octet) && lengths != [2; 4];
    let is_times = run.split_once(['-', '–']).is_some_and(|(from, to)| is_time(from.trim()) && is_time(to.trim()));
    let is_decimal = has_only('.')
        && matches!(groups.as_slice(), [whole, fraction] if *whole == "0" || whole.len() < 3 && !whole.starts_with('0') && fraction.len() > 4);
    let is_years = groups.len() > 1 && groups.iter().all(is_year);
    let is_named = has_only('-') && lengths == [3, 2, 4] || run.contains(['.', '-']) && lengths == [3, 3, 3, 2];
    is_years || is_named || is_address || is_times || is_decimal || run.contains("))")
}

/// Whether the words before digits are the beginning of an account number: `NL91 ABNA 0417 1643 00`.
fn is_part_of_iban(before: &str) -> bool {
    let mut words = before.split_whitespace().rev();
    let bank = words.next().is_some_and(|word| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_uppercase()));
    bank && words.next().is_some_and(|word| {
        let (country, digits) = word.split_at_checked(2).unwrap_or_default();
        country.bytes().all(|byte| byte.is_ascii_uppercase()) && digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// What the words before a number call it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Phone,
    /// Of another kind: `account number 12345678`.
    Other,
}

fn find_name(before: &str) -> Option<Name> {
    let words = before.split(|character: char| !character.is_alphanumeric() && !is_mark(character)).rev().filter(|it| !it.is_empty());
    // "order 12 or 555 123 4567" names the other number.
    words
        .take(NAMING_WORDS)
        .take_while(|word| !word.contains(|character: char| character.is_ascii_digit()))
        .map(str::to_lowercase)
        .find_map(|word| {
            let is_in = |list: &[&str], name: Name| list.contains(&word.as_str()).then_some(name);
            is_in(&OTHER_NUMBERS, Name::Other).or(is_in(&PHONES, Name::Phone))
        })
}

/// Vowel signs and the virama of Devanagari, which are no letters.
fn is_mark(character: char) -> bool {
    ('\u{900}'..='\u{97f}').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::find_all;
    use crate::entity::{Entity, ExtractionContext};

    /// The first value, and whether it is the whole text.
    fn find(text: &str, locale: &str) -> Option<(String, bool)> {
        find_all(text, locale).next().map(|found| (found.0, found.1 == (0..text.len())))
    }

    #[test]
    fn numbers_are_found() {
        for (text, locale, expected) in [
            ("+49 30 123456", "en-US", "+4930123456"),
            ("0049 30/123456", "en-US", "+4930123456"),
            ("+44 (020) 7946 0958", "en-GB", "+442079460958"),
            ("+49 176/12345678", "de-DE", "+4917612345678"),
            ("030/1234567", "de-DE", "+49301234567"),
            ("0049 30 123456", "en-US", "+4930123456"),
            ("+44 (0)20 7946 0958", "en-US", "+442079460958"),
            ("(+44) 20 7946 0958", "en-US", "+442079460958"),
            ("(555) 123-4567", "en-US", "+15551234567"),
            ("555.123.4567", "en-CA", "+15551234567"),
            ("1-555-123-4567", "en-US", "+15551234567"),
            ("call me at 555 123 4567, thanks", "en-US", "+15551234567"),
            ("555-1234", "en-US", "5551234"),
            ("5551234567", "en", "5551234567"),
            ("030 123456", "de-DE", "+4930123456"),
            ("0171 2345678", "de-DE", "+491712345678"),
            ("1234567", "de-DE", "1234567"),
            ("020 7946 0958", "en-GB", "+442079460958"),
            ("07911 123456", "en-GB", "+447911123456"),
            ("06 12 34 56 78", "fr-FR", "+33612345678"),
            ("612 34 56 78", "es-ES", "+34612345678"),
            ("06 1234 5678", "it-IT", "+390612345678"),
            ("06-12345678", "nl-NL", "+31612345678"),
            ("912 345 678", "pt-PT", "+351912345678"),
            ("(11) 91234-5678", "pt-BR", "+5511912345678"),
            ("0412 345 678", "en-AU", "+61412345678"),
            ("098765 43210", "en-IN", "+919876543210"),
            ("044 668 18 00", "de-CH", "+41446681800"),
            ("order 12 or 555 123 4567", "en-US", "+15551234567"),
            ("0201234567", "en-XX", "0201234567"),
            ("0301234567", "en-US", "0301234567"),
            ("1 (155) 523-4567", "en-CA", "11555234567"),
            ("1555234567", "en-US", "1555234567"),
            ("my account is locked, call 555 123 4567", "en-US", "+15551234567"),
            ("tel.: 030 123456", "de-DE", "+4930123456"),
        ] {
            assert_eq!(find(text, locale).map(|it| it.0).unwrap_or_default(), expected, "{text} {locale}");
        }
    }

    #[test]
    fn other_texts_are_not_numbers() {
        for text in [
            "",
            "call me",
            "123456",
            "1234567890123456",
            "A1234567",
            "1234567B",
            "+0123456789",
            "+",
            "12 34",
            "1 2 3",
            "555    1234",
            "3782 822463 10005",
            "3600 0000 0000 009",
            "-2208960000",
            "45+31-339243873",
            "45*31-339243873",
            "(456 (4)) 345",
            "2009/2010",
            "911-67-0060",
            "#20020211895",
            "E-151673398",
            "account number 12345678",
            "my card number is 12345678",
            "Kontonummer 12345678",
            "खाता संख्या 12345678",
        ] {
            assert_eq!(find(text, "en-US"), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_by_the_plan_of_their_country() {
        for (text, locale, expected) in [
            ("+49 0170 1234567", "en-US", "+491701234567"),
            ("+44 020 7946 0958", "de-DE", "+442079460958"),
            ("+39 06 1234 5678", "en-US", "+390612345678"),
            ("+39 (06) 1234 5678", "it-IT", "+390612345678"),
            ("+39 (0)333 1234567", "it-IT", "+393331234567"),
            ("+52 1 55 1234 5678", "es-MX", "+525512345678"),
            ("+43 1 4000", "de-AT", "+4314000"),
            ("+34 (0)612 345 678", "es-ES", "+34612345678"),
            ("011 49 30 123456", "en-US", "+4930123456"),
            ("0011 49 30 123456", "en-AU", "+4930123456"),
            ("010 49 30 123456", "ja-JP", "+4930123456"),
            ("0044 20 7946 0958", "fr-FR", "+442079460958"),
            ("011 15-1234-5678", "es-AR", "+5491112345678"),
            ("0351 15 123 4567", "es-AR", "+5493511234567"),
            ("03711 15 12 3456", "es-AR", "+5493711123456"),
            ("011 4123-4567", "es-AR", "+541141234567"),
            ("15-1234-5678", "es-AR", "1512345678"),
            ("49 12345678", "de-DE", "4912345678"),
            ("91 98765 43210", "en-IN", "+919876543210"),
            ("55 11 91234-5678", "pt-BR", "+5511912345678"),
            ("49 30 1234567", "de-DE", "+49301234567"),
            ("34 612 345 678", "es-ES", "+34612345678"),
            ("0800 1111", "en-GB", "+448001111"),
            ("021 123 4567", "en-NZ", "+64211234567"),
            ("085 123 4567", "en-IE", "+353851234567"),
            ("1800 123 456", "en-IE", "1800123456"),
            ("+61 1300 123 456", "en-AU", "+611300123456"),
            ("0471 12 34 56", "nl-BE", "+32471123456"),
            ("01 58058", "de-AT", "+43158058"),
            ("7946 0958", "en-GB", "79460958"),
            ("4123-4567", "es-AR", "41234567"),
            ("20793460958", "en", "20793460958"),
            ("011 49 30 123456", "en", "0114930123456"),
            ("+86 189 1111 1111", "en", "+8618911111111"),
            // No number begins so, but numbers of the country are as long.
            ("+1 155 523 4567", "en-US", "+11555234567"),
            ("+44 620 794 6095", "en-GB", "+446207946095"),
        ] {
            assert_eq!(find(text, locale), Some((expected.to_owned(), true)), "{text} {locale}");
        }
        // What is called a phone number is one of another country, or without an area code; it is stored as it is said.
        for (text, locale, expected) in [
            ("my phone number is 0161 715 4423", "en-US", Some("01617154423")),
            ("ruf an unter Telefon 12345678901", "fr-FR", Some("12345678901")),
            ("my phone number is 1234567890123", "en-US", None),
            ("my order number is 0161 715 4423", "en-US", None),
            ("my lucky number is 12345678", "en-US", None),
        ] {
            assert_eq!(find(text, locale).map(|it| it.0).as_deref(), expected, "{text} {locale}");
        }
        for (text, locale) in [
            ("12345678", "en-US"),
            ("123456789", "en-US"),
            ("+1 555 1234", "en-US"),
            ("+1 555 123 45678", "en-US"),
            ("+44 20 7946 095", "en-GB"),
            ("+44 20 7946 09581", "en-GB"),
            ("+33 6 12 34 56 7", "fr-FR"),
            ("06 12 34 56 7", "fr-FR"),
            ("1234567890", "fr-FR"),
            ("123 456 789", "es-ES"),
            ("123 456 789", "pt-PT"),
            ("1234567", "it-IT"),
            ("12345678", "it-IT"),
            ("012345678", "nl-NL"),
            ("044 668 18", "de-CH"),
            ("9123 4567 8901", "en-IN"),
            ("12345678909", "pt-BR"),
            ("+91 98765 4321", "hi-IN"),
            ("+61 4 1234 567", "en-AU"),
            ("+64 123 4567", "en-NZ"),
            ("+353 12 3456", "en-IE"),
            ("+32 471 12 34", "nl-BE"),
            ("0341512345678", "es-AR"),
            ("+1 1 555 123 4567", "en-US"),
            ("+49 1", "de-DE"),
            ("+210 123 4567", "en-US"),
            ("+999 123 4567", "en"),
            ("+0 123 456 789", "en"),
            // A calling code without a sign belongs to no other country, and no country has a zero.
            ("86 18911111111", "en"),
            ("86 18911111111", "en-US"),
            ("44 20 7946 0958", "en-US"),
            ("000 111 82-2100", "en"),
            ("000 111 82-2100", "en-US"),
        ] {
            assert_eq!(find(text, locale), None, "{text} {locale}");
        }
    }

    #[test]
    fn extensions_are_read() {
        for (text, locale, expected) in [
            ("+44 20 7946 0958 ext. 12", "en-GB", "+442079460958;ext=12"),
            ("+44 20 7946 0958;ext=12", "de-DE", "+442079460958;ext=12"),
            ("+442079460958;ext=12", "", "+442079460958;ext=12"),
            ("5551234;ext=12", "en-US", "5551234;ext=12"),
            ("+44 20 7946 0958 EXT 0012", "en-GB", "+442079460958;ext=0012"),
            ("(555) 123-4567 x12", "en-US", "+15551234567;ext=12"),
            ("(555) 123-4567x12", "en-US", "+15551234567;ext=12"),
            ("(555) 123-4567 x 12", "en-US", "+15551234567;ext=12"),
            ("555-1234x12", "en-US", "5551234;ext=12"),
            ("(555) 123-4567, extension 1234567", "en-US", "+15551234567;ext=1234567"),
            ("(555) 123-4567 extension number 12", "en-US", "+15551234567;ext=12"),
            ("(555) 123-4567 (ext. 12)", "en-US", "+15551234567;ext=12"),
            ("030/1234567 Durchwahl 12", "de-DE", "+49301234567;ext=12"),
            ("030/1234567, DW: -12", "de-DE", "+49301234567;ext=12"),
            ("01 58058 DW 12", "de-AT", "+43158058;ext=12"),
            ("030/1234567 Nebenstelle Nummer 12", "de-DE", "+49301234567;ext=12"),
            ("01 23 45 67 89 poste 12", "fr-FR", "+33123456789;ext=12"),
            ("06 1234 5678 int. 12", "it-IT", "+390612345678;ext=12"),
            ("06 1234 5678 interno 12", "it-IT", "+390612345678;ext=12"),
            ("912 345 678 ext. 12", "es-ES", "+34912345678;ext=12"),
            ("912 345 678 extensión 12", "es-ES", "+34912345678;ext=12"),
            ("55 1234 5678 anexo 12", "es-MX", "+525512345678;ext=12"),
            ("(11) 3456-7890 ramal 12", "pt-BR", "+551134567890;ext=12"),
            ("020 123 4567 toestel 12", "nl-NL", "+31201234567;ext=12"),
            ("098765 43210 एक्सटेंशन 12", "hi-IN", "+919876543210;ext=12"),
            ("+91 98765 43210 एक्सटेंशन नंबर 12", "hi-IN", "+919876543210;ext=12"),
        ] {
            assert_eq!(find(text, locale), Some((expected.to_owned(), true)), "{text} {locale}");
        }
        for (text, expected) in [
            ("(555) 123-4567", "+15551234567"),
            ("(555) 123-4567 ext", "+15551234567"),
            ("(555) 123-4567 ext. please", "+15551234567"),
            ("(555) 123-4567 text 12", "+15551234567"),
            ("(555) 123-4567 next 12 days", "+15551234567"),
            ("(555) 123-4567 external 12", "+15551234567"),
            ("(555) 123-4567 exit 12", "+15551234567"),
            ("(555) 123-4567, 12 people", "+15551234567"),
            ("(555) 123-4567 extension, 12 people", "+15551234567"),
            ("(555) 123-4567 x-ray 12", "+15551234567"),
            ("(555) 123-4567 xl 12", "+15551234567"),
            ("5551234 x 12", "5551234"),
            ("(555) 123-4567 ext. 12.", "+15551234567;ext=12"),
            ("(555) 123-4567 ext. 12, 5 people", "+15551234567;ext=12"),
            ("(555) 123-4567 ext. 12 or 13", "+15551234567;ext=12"),
        ] {
            assert_eq!(find(text, "en-US").map(|it| it.0), Some(expected.to_owned()), "{text}");
        }
        for text in [
            "(555) 123-4567 ext. 12345678",
            "(555) 123-4567 ext. 5551234567",
            "(555) 123-4567 ext. 12-13",
            "(555) 123-4567 ext. 12/13",
            "(555) 123-4567 ext. 12 34",
            "(555) 123-4567 ext. 12a",
            "(555) 123-4567x",
            "ext. 12",
            "1920x1080",
        ] {
            assert_eq!(find(text, "en-US"), None, "{text}");
        }
        let several: Vec<String> =
            find_all("(555) 123-4567 x12, (555) 123-4568 ext. 12-13 and (555) 123-4569", "en-US").map(|it| it.0).collect();
        assert_eq!(several, ["+15551234567;ext=12", "+15551234569"]);
    }

    #[test]
    fn numbers_that_look_like_phone_numbers_are_not() {
        for (text, locale) in [
            ("192.168.10.100", "en-US"),
            ("192.168.10.100", "en"),
            ("10.30-11.30", "de-DE"),
            ("10.30 – 11.30", "de-DE"),
            ("2019-2020", "en-GB"),
            ("2019 2020 2021", "de-DE"),
            ("1990–2024", "pt-BR"),
            ("52.520008", "de-DE"),
            ("0.12345678", "en"),
            ("3.14159265", "en"),
            ("123.456.789-09", "en"),
            ("NL91 ABNA 0417 1643 00", "nl-NL"),
            ("DE89 3702 0400 4405 3201 3000", "de-DE"),
            ("4111 1111 1111 1111", "de-DE"),
            ("5500 0000 0000 004", "pt-BR"),
            ("order 5551234567", "en-US"),
            ("order no. 5551234567", "en-US"),
            ("ticket 5551234567", "en-US"),
            ("my id is 5551234567", "en-US"),
            ("BSN 123456782", "nl-NL"),
            ("NIF 256789123", "pt-PT"),
            ("P. IVA 0123456789", "it-IT"),
            ("Steuernummer 12345678901", "de-DE"),
            ("pasaporte 612345678", "es-ES"),
            ("आधार 9123456789", "hi-IN"),
            ("1769601600000", "de-DE"),
        ] {
            assert_eq!(find(text, locale), None, "{text} {locale}");
        }
        for (text, locale, expected) in [
            ("22.34.56.78", "da-DK", "+4522345678"),
            ("06.12.34.56.78", "fr-FR", "+33612345678"),
            ("089.1234567", "de-DE", "+49891234567"),
            ("06.12345678", "nl-NL", "+31612345678"),
            ("555.1234", "en-US", "5551234"),
            ("call DESK 0417 1643 00", "nl-NL", "+31417164300"),
        ] {
            assert_eq!(find(text, locale).map(|it| it.0), Some(expected.to_owned()), "{text} {locale}");
        }
    }

    #[test]
    fn dates_and_prices_are_not_phone_numbers() {
        let phone = Entity::from_system_name("@phone").unwrap();
        let found = |text: &str, locale: &str| {
            let context = ExtractionContext { locale, now: 1_769_601_600_000, time_zone: "UTC", parses: None };
            phone
                .find_all(text, context)
                .into_iter()
                .filter_map(|found| found.value)
                .map(|value| value.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (text, locale) in [
            ("2026-03-05", "en"),
            ("2026-03-05 10:30", "en"),
            ("2026-03-05 10", "en-US"),
            ("05.03.2026 10 Uhr", "de-DE"),
            ("1.234.567 €", "de-DE"),
            ("12 500 000 EUR", "de-DE"),
            ("1234567 dollars", "en-US"),
        ] {
            assert_eq!(found(text, locale), "", "{text} {locale}");
        }
        assert_eq!(found("030/1234567, on 2026-03-05 for 5 €", "de-DE"), "\"+49301234567\"");
        assert_eq!(found("०९८७६५ ४३२१० एक्सटेंशन १२", "hi-IN"), "\"+919876543210;ext=12\"");
        let context = ExtractionContext { locale: "en-US", now: 0, time_zone: "UTC", parses: None };
        for stored in ["+442079460958", "+442079460958;ext=12", "+8618911111111", "5551234", "5551234;ext=0012"] {
            assert_eq!(phone.accept(&stored.into(), context), Some(stored.into()));
        }
        for other in ["+442079460958;ext=12345678", "+442079460958;ext=", "+442079460958;isub=12", "ext. 12"] {
            assert_eq!(phone.accept(&other.into(), context), None, "{other}");
        }
    }

    #[test]
    fn a_whole_text_is_distinguished_from_a_part() {
        for (text, whole) in [
            ("+4930123456", true),
            ("(555) 123-4567", true),
            ("(+44) 20 7946 0958", true),
            ("tel 5551234567", false),
            ("5551234567.", false),
        ] {
            assert_eq!(find(text, "en-US").map(|it| it.1), Some(whole), "{text}");
        }
    }
}
