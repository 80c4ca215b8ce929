//! Dutch.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "nl",
    words: LocaleWords {
        and: "en",
        article: "een",
        half: "half,halve",
        determiners: "een,de,het,mijn,ons,onze,jouw,je,uw,zijn,haar,hun,dit,dat,deze,die",
        contractions: "",
        months: "januari|februari|maart,mrt|april|mei|juni|juli|augustus|september|oktober|november|december",
        weekdays: "maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag",
        days: "vandaag|morgen|gisteren|overmorgen",
        before_other_day: "afgelopen,vorige,goede,goeden",
        after_past_day: "",
        before_month: "",
        before_offset: "over",
        after_offset: "",
        units: "jaren,jaar|maanden,maand|weken,week,w|dagen,dag|uren,uur,u,h|minuten,minuut,min,m|seconden,seconde,sec,s",
        yes: "ja,jawel,zeker,ok,oke,okay,klopt,prima,graag,natuurlijk,juist,correct,akkoord,is goed,waar,geen probleem,waarom niet",
        no: "nee,neen,nooit,fout,onjuist,onwaar,liever niet,zeker niet,natuurlijk niet,klopt niet",
        not: "niet,geen",
        unsure: "weet niet,weet ik niet,weet het niet,niet zeker,geen idee,misschien",
        whole_text_only: ["1,j", "0,n"],
        numbers: None,
    },
    texts: None,
};
