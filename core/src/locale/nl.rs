//! Dutch.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "nl",
    words: LocaleWords { and: "en", determiners: "een,de,het,mijn,ons,onze,jouw,je,uw,zijn,haar,hun,dit,dat,deze,die", contractions: "" },
    texts: None,
};
