//! The documents: their texts, and how they are written.

use encoding_rs::{EUC_KR, Encoding, GB18030, KOI8_U, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253};

use super::pdf_writer::{Naming, Shown, write};
use crate::knowledge::document::DocumentFormat;

/// A document.
pub struct Sample {
    /// What is special about it.
    pub name: &'static str,
    /// Its language.
    pub locale: &'static str,
    pub format: DocumentFormat,
    pub bytes: Vec<u8>,
    /// What its sender declares.
    pub charset: Option<&'static str>,
    /// What it says.
    pub text: String,
    /// A word that it must be found by.
    pub word: &'static str,
    /// How many of its characters cannot be read, and how many of its pages.
    pub lost: usize,
    pub lost_pages: u32,
}

const ENGLISH: &str = "A card costs 5 euros a year.\nTransfers abroad take two working days (at most 3).";
const GERMAN: &str = "Die Karte kostet fünf Euro im Jahr.\nÜberweisungen ins Ausland dauern höchstens zwei Werktage.";
const FRENCH: &str = "La carte coûte cinq euros par an.\nLes virements à l’étranger durent deux jours ouvrés.";
const POLISH: &str = "Karta kosztuje pięć złotych rocznie.\nPrzelewy zagraniczne trwają najwyżej dwa dni robocze.";
const RUSSIAN: &str = "Карта стоит пять рублей в год.\nПереводы за границу идут не дольше двух рабочих дней.";
const UKRAINIAN: &str = "Картка коштує десять гривень на рік.\nПерекази за кордон тривають два робочі дні.";
const GREEK: &str = "Η κάρτα κοστίζει πέντε ευρώ τον χρόνο.\nΟι μεταφορές στο εξωτερικό διαρκούν δύο ημέρες.";
const TURKISH: &str = "Kart yılda beş avroya mal olur.\nYurt dışına havale en çok iki iş günü sürer.";
const VIETNAMESE: &str = "Thẻ có phí năm euro mỗi năm.\nChuyển tiền ra nước ngoài mất hai ngày làm việc.";
const JAPANESE: &str = "カードの年会費は五百円です。\n海外への送金は二営業日以内に届きます。";
const CHINESE: &str = "银行卡每年收费五元。\n境外汇款最多需要两个工作日。";
const TAIWANESE: &str = "銀行卡每年收費五元。\n境外匯款最多需要兩個工作天。";
const KOREAN: &str = "카드 연회비는 오천 원입니다.\n해외 송금은 이틀 안에 도착합니다.";
const HEBREW: &str = "כרטיס עולה 5 שקלים בשנה (כולל מס).\nהעברות לחוץ לארץ נמשכות יומיים לכל היותר.";
const ARABIC: &str = "تكلف البطاقة 15 يورو في السنة (شاملة الضريبة).\nتستغرق التحويلات إلى الخارج يومين على الأكثر.";
const PERSIAN: &str = "کارت سالی پنج یورو هزینه دارد.\nمی\u{200c}توانید آن را در شعبه لغو کنید.";
const HINDI: &str = "कार्ड की वार्षिक फ़ीस पाँच रुपये है।\nविदेश में भुगतान दो दिनों में पहुँचता है।";
const THAI: &str = "บัตรมีค่าธรรมเนียมปีละห้าบาท\nการโอนเงินไปต่างประเทศใช้เวลาสองวัน";

/// Returns all documents.
pub fn samples() -> Vec<Sample> {
    let parts = [pdfs_with_few_characters(), pdfs_with_many_characters(), pdfs_in_other_orders(), pdfs_with_losses(), pages(), texts()];
    parts.into_iter().flatten().collect()
}

fn sample(name: &'static str, locale: &'static str, format: DocumentFormat, bytes: Vec<u8>, text: &str, word: &'static str) -> Sample {
    Sample { name, locale, format, bytes, charset: None, text: text.to_owned(), word, lost: 0, lost_pages: 0 }
}

fn lines(text: &str, shown: impl Fn(&str) -> Shown) -> Vec<Shown> {
    text.lines().map(shown).collect()
}

fn pdf(name: &'static str, locale: &'static str, naming: Naming, text: &str, word: &'static str) -> Sample {
    sample(name, locale, DocumentFormat::Pdf, write(naming, &lines(text, |line| Shown::Line(line.to_owned()))), text, word)
}

fn pdfs_with_few_characters() -> Vec<Sample> {
    vec![
        pdf("PDF, standard font", "en", Naming::Windows, ENGLISH, "transfer"),
        pdf("PDF, standard font, soft hyphens", "de", Naming::Windows, &GERMAN.replace("weisungen", "wei\u{ad}sungen"), "Überweisung"),
        pdf("PDF, standard font", "fr", Naming::Windows, FRENCH, "étranger"),
        pdf("PDF, names of glyphs", "pl", Naming::GlyphNames, POLISH, "złotych"),
        pdf("PDF, map", "ru", Naming::Map, RUSSIAN, "карты"),
        pdf("PDF, table of the font", "el", Naming::EmbeddedTable, GREEK, "κάρτες"),
        pdf("PDF, map", "vi", Naming::Map, VIETNAMESE, "chuyển tiền"),
    ]
}

fn pdfs_with_many_characters() -> Vec<Sample> {
    let set = Naming::Predefined;
    vec![
        pdf("PDF, UniJIS-UTF16-H", "ja", set("UniJIS-UTF16-H", "Japan1", false), JAPANESE, "送金"),
        pdf("PDF, 90ms-RKSJ-H, embedded font", "ja", set("90ms-RKSJ-H", "Japan1", true), JAPANESE, "送金"),
        pdf("PDF, UniJIS-UTF16-V, from top to bottom", "ja", set("UniJIS-UTF16-V", "Japan1", true), JAPANESE, "送金"),
        pdf("PDF, GBK-EUC-H", "zh-CN", set("GBK-EUC-H", "GB1", false), CHINESE, "汇款"),
        pdf("PDF, UniGB-UCS2-H, embedded font", "zh-CN", set("UniGB-UCS2-H", "GB1", true), CHINESE, "汇款"),
        pdf("PDF, table of the font", "zh-CN", Naming::EmbeddedTable, CHINESE, "汇款"),
        pdf("PDF, ETen-B5-H", "zh-TW", set("ETen-B5-H", "CNS1", true), TAIWANESE, "匯款"),
        pdf("PDF, KSCms-UHC-H", "ko", set("KSCms-UHC-H", "Korea1", false), KOREAN, "송금"),
        pdf("PDF, UniKS-UTF16-H, embedded font", "ko", set("UniKS-UTF16-H", "Korea1", true), KOREAN, "송금"),
        pdf("PDF, map", "ko", Naming::Map, KOREAN, "송금"),
    ]
}

fn pdfs_in_other_orders() -> Vec<Sample> {
    let shown = |name, locale, naming, text: &str, word, show: &dyn Fn(&str) -> Shown| {
        sample(name, locale, DocumentFormat::Pdf, write(naming, &lines(text, show)), text, word)
    };
    let seen = |it: &str| Shown::Line(as_seen(it));
    let placed = |it: &str| Shown::RightToLeft(it.to_owned());
    let drawn = |it: &str| Shown::Line(it.to_owned());
    // The letters of `سلام لكم` as they are joined, of which the second is two letters in one.
    let (forms, plain) = ("\u{feb3}\u{fefc}\u{fee1} \u{fedf}\u{fedc}\u{fee2}", "سلام لكم");
    vec![
        shown("PDF, map, as seen", "he", Naming::Map, HEBREW, "העברות", &seen),
        shown(
            "PDF, table of the font, each letter placed",
            "he",
            Naming::EmbeddedTable,
            &HEBREW.replace(['5', '(', ')'], ""),
            "העברות",
            &placed,
        ),
        shown("PDF, map, mirrored", "he", Naming::Map, &HEBREW.replace(['(', ')'], ""), "העברות", &drawn),
        shown("PDF, map, mirrored", "ar", Naming::Map, "مرحبا بالعالم.\nأهلا وسهلا بكم في بنكنا.", "بنكنا", &drawn),
        shown("PDF, map, as seen", "ar", Naming::Map, ARABIC, "التحويلات", &seen),
        shown("PDF, table of the font, as seen", "fa", Naming::EmbeddedTable, &PERSIAN.replace('\u{200c}', ""), "شعبه", &seen),
        sample("PDF, joined forms", "ar", DocumentFormat::Pdf, write(Naming::EmbeddedTable, &[Shown::Line(as_seen(forms))]), plain, "سلام"),
        pdf("PDF, map", "hi", Naming::Map, HINDI, "भुगतान"),
        shown("PDF, map, vowels in front", "hi", Naming::Map, HINDI, "विदेश", &|line| Shown::Line(vowels_in_front(line))),
        pdf("PDF, map", "th", Naming::Map, THAI, "โอนเงิน"),
        shown("PDF, spoken text", "ja", Naming::Nothing, JAPANESE, "送金", &|line| Shown::Spoken("一二三".to_owned(), line.to_owned())),
    ]
}

fn pdfs_with_losses() -> Vec<Sample> {
    let unreadable = [Shown::Plain("Fees of cards"), Shown::Line("Карта".to_owned())];
    let scan = [Shown::Plain("Fees of cards"), Shown::Break, Shown::Picture, Shown::Break, Shown::Break, Shown::Plain("Limits of cards")];
    let nothing = Naming::Nothing;
    vec![
        Sample {
            lost: 5,
            ..sample("PDF, a font without characters", "en", DocumentFormat::Pdf, write(nothing, &unreadable), "Fees of cardsКарта", "fee")
        },
        Sample {
            lost_pages: 1,
            ..sample(
                "PDF, a scan between pages",
                "en",
                DocumentFormat::Pdf,
                write(nothing, &scan),
                "Fees of cards Limits of cards",
                "limit",
            )
        },
    ]
}

fn encode(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    let (bytes, _, is_lossy) = encoding.encode(text);
    assert!(!is_lossy, "{} has no code for a character of {text}", encoding.name());
    bytes.into_owned()
}

fn pages() -> Vec<Sample> {
    let page = |name, locale, head: &str, encoding, text: &str, body: &str, word| {
        let html = format!("{head}<title>x</title><body><p>{}</p></body>", body.replace('\n', "</p><p>"));
        sample(name, locale, DocumentFormat::Html, encode(encoding, &html), text, word)
    };
    let marked = GERMAN.replace("weisungen", "<b>wei</b>&shy;sun<i>gen</i>").replace("Werktage", "Werk<wbr>tage");
    let lossy = FRENCH.replace('’', "'");
    vec![
        page(
            "HTML, windows-1252 in meta, marks in words",
            "de",
            "<meta charset=windows-1252>",
            WINDOWS_1252,
            GERMAN,
            &marked,
            "Überweisung",
        ),
        Sample {
            charset: Some("windows-1251"),
            ..page("HTML, windows-1251 of the sender", "ru", "", WINDOWS_1251, RUSSIAN, RUSSIAN, "карты")
        },
        page(
            "HTML, Shift_JIS in http-equiv",
            "ja",
            "<meta http-equiv=content-type content='text/html; charset=Shift_JIS'>",
            SHIFT_JIS,
            JAPANESE,
            JAPANESE,
            "送金",
        ),
        page("HTML, GB18030 in meta", "zh-CN", "<meta charset=gb18030>", GB18030, CHINESE, CHINESE, "汇款"),
        page("HTML, XML declaration", "fr", "<?xml version='1.0' encoding='windows-1252'?>", WINDOWS_1252, FRENCH, FRENCH, "étranger"),
        page("HTML, UTF-8", "he", "", encoding_rs::UTF_8, HEBREW, HEBREW, "העברות"),
        Sample { lost: 4, ..page("HTML, windows-1252 that is not declared", "fr", "", WINDOWS_1252, &lossy, &lossy, "carte") },
    ]
}

fn texts() -> Vec<Sample> {
    let text = |name, locale, bytes, text: &str, word| sample(name, locale, DocumentFormat::Text, bytes, text, word);
    let utf_16 = [0xfeff].into_iter().chain(ENGLISH.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let marked = TURKISH.replace("günü", "g**ün**ü").replace("havale", "ha\u{200b}va\u{ad}le");
    let markdown = format!("# Kart\n\n{}", marked.replace('\n', "\n\n"));
    vec![
        text("text, UTF-16 with a mark", "en", utf_16, ENGLISH, "transfer"),
        Sample {
            charset: Some("windows-1253"),
            ..text("text, windows-1253 of the sender", "el", encode(WINDOWS_1253, GREEK), GREEK, "κάρτες")
        },
        Sample { charset: Some("euc-kr"), ..text("text, EUC-KR of the sender", "ko", encode(EUC_KR, KOREAN), KOREAN, "송금") },
        Sample {
            charset: Some("koi8-u"), ..text("text, KOI8-U of the sender", "uk", encode(KOI8_U, UKRAINIAN), UKRAINIAN, "гривень")
        },
        text("text, UTF-8 with a mark", "pl", format!("\u{feff}{POLISH}").into_bytes(), POLISH, "złotych"),
        text("text, joiners of width 0", "fa", PERSIAN.as_bytes().to_vec(), PERSIAN, "میتوانید"),
        sample(
            "Markdown, marks and soft hyphens in words",
            "tr",
            DocumentFormat::Markdown,
            markdown.into_bytes(),
            &format!("Kart{TURKISH}"),
            "havale günü",
        ),
        sample("Markdown", "ar", DocumentFormat::Markdown, format!("# {ARABIC}").into_bytes(), ARABIC, "التحويلات"),
    ]
}

/// Returns a line of Hebrew or Arabic as it is seen from left to right: numbers are the only part that is not turned.
fn as_seen(line: &str) -> String {
    let mut out: Vec<char> = Vec::new();
    let mut digits = 0;
    for character in line.chars() {
        digits = if character.is_ascii_digit() { digits + 1 } else { 0 };
        let place = digits.max(1) - 1;
        let mirrored = match character {
            '(' => ')',
            ')' => '(',
            it => it,
        };
        out.insert(place, mirrored);
    }
    out.into_iter().collect()
}

/// Moves the vowel sign I in front of the consonants that it belongs to, where it is seen.
fn vowels_in_front(line: &str) -> String {
    let mut out: Vec<char> = Vec::new();
    for character in line.chars() {
        let mut place = out.len();
        if character == 'ि' {
            place = out.len() - 1;
            while place > 1 && out[place - 1] == '्' {
                place -= 2;
            }
        }
        out.insert(place, character);
    }
    out.into_iter().collect()
}
