//! Dutch.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "nl",
    weekdays: [
        ["maandag", "ma"],
        ["dinsdag", "di"],
        ["woensdag", "wo"],
        ["donderdag", "do"],
        ["vrijdag", "vr"],
        ["zaterdag", "za"],
        ["zondag", "zo"],
    ],
    words: LocaleWords {
        and: "en",
        determiners: "een,de,het,mijn,ons,onze,jouw,je,uw,zijn,haar,hun,dit,dat,deze,die",
        contractions: "",
        questions: "welk,welke,wat,wie,wanneer,waar,waarheen,waarvandaan,hoe,hoeveel,veel,is,wilt,wil,kunt,kun,u,jij,ik,we,wij,mij,alstublieft,graag,\
            geef,noem,kies,zeg,of",
        free_words: "vraag,vragen,probleem,problemen,bericht,berichten,verzoek,hulp,helpen,opmerking,opmerkingen,feedback,beschrijf,beschrijving,details,onderwerp,notitie,tekst,gebeurd,idee,ideeen,mening,reden,klacht,zoeken,zoekopdracht,wens,inhoud",
    },
    texts: None,
};
