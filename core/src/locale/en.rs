//! English.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "en",
    words: LocaleWords {
        and: "and",
        determiners: "a,an,the,my,our,your,his,her,its,their,this,that,these,those",
        contractions: "",
        questions: "which,what,who,when,where,how,many,much,it,is,are,do,does,did,would,will,can,could,should,you,i,we,me,us,please,tell,give,enter,\
            choose,select,say,or,s,d,ll",
    },
    texts: Some(TEXTS),
};

/// Also what the engine says in a language that it does not speak.
pub(super) const TEXTS: EngineTexts = EngineTexts {
    confirm_value: "Is that {value}?",
    yes: "Yes",
    no: "No",
    ask_for_value: "{name}?",
    choose_value: "{values}?",
    choose_intent: "Did you mean “{first}” or “{second}”?",
    not_understood: "Sorry, I did not understand that.",
    error: "Something went wrong. Please try again.",
};
