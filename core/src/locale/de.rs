//! German.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "de",
    words: LocaleWords {
        and: "und",
        determiners: "ein,eine,einen,einem,einer,der,die,das,den,dem,des,mein,meine,meinen,meinem,meiner,unser,unsere,unseren,unserem,\
                      unserer,dein,deine,deinen,deinem,deiner,ihr,ihre,ihren,ihrem,ihrer,sein,seine,seinen,seinem,seiner,diese,diesen,\
                      diesem,dieser,dieses",
        contractions: "von,vom|zu,zum,zur|an,am,ans|in,im,ins|auf,aufs|bei,beim",
        questions: "welche,welcher,welches,welchen,welchem,was,wer,wen,wem,wann,wo,wohin,woher,wie,viel,viele,ist,sind,soll,sollen,willst,wollen,\
            mochtest,mochten,kannst,konnen,du,sie,ihr,wir,ich,mir,uns,bitte,sage,sagen,nenne,nennen,gib,geben,wahle,wahlen,oder",
    },
    texts: Some(EngineTexts {
        confirm_value: "Ist {value} richtig?",
        yes: "Ja",
        no: "Nein",
        ask_for_value: "{name}?",
        choose_value: "Was meinen Sie: {values}?",
        choose_intent: "Meinen Sie „{first}“ oder „{second}“?",
        not_understood: "Das habe ich leider nicht verstanden.",
        error: "Etwas ist schiefgegangen. Bitte versuchen Sie es erneut.",
    }),
};
