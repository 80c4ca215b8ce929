//! Dutch.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "nl",
    words: LocaleWords {
        and: "en",
        determiners: "een,de,het,mijn,ons,onze,jouw,je,uw,zijn,haar,hun,dit,dat,deze,die",
        contractions: "",
        questions: "welk,welke,wat,wie,wanneer,waar,waarheen,waarvandaan,hoe,hoeveel,veel,is,wilt,wil,kunt,kun,u,jij,ik,we,wij,mij,alstublieft,graag,\
            geef,noem,kies,zeg,of",
    },
    texts: None,
};
