//! French.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "fr",
    words: LocaleWords {
        and: "et",
        determiners: "un,une,le,la,les,l,mon,ma,mes,ton,ta,tes,son,sa,ses,notre,nos,votre,vos,leur,leurs,ce,cet,cette,ces",
        contractions: "de,du,des,d|a,au,aux",
        questions: "quel,quelle,quels,quelles,qui,que,qu,quoi,quand,ou,comment,combien,est,sont,voulez,veux,souhaitez,souhaites,pouvez,vous,tu,je,j,\
            nous,me,moi,dites,indiquez,donnez,entrez,choisissez,s,il,plait",
    },
    texts: Some(EngineTexts {
        confirm_value: "Est-ce bien {value}\u{202f}?",
        yes: "Oui",
        no: "Non",
        ask_for_value: "{name}\u{202f}?",
        choose_value: "Que voulez-vous dire\u{a0}: {values}\u{202f}?",
        choose_intent: "Voulez-vous dire «\u{a0}{first}\u{a0}» ou «\u{a0}{second}\u{a0}»\u{202f}?",
        not_understood: "Excusez-moi, je n’ai pas compris.",
        error: "Une erreur s’est produite. Veuillez réessayer.",
    }),
};
