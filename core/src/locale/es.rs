//! Spanish.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "es",
    words: LocaleWords {
        and: "y,e",
        determiners: "un,una,el,la,los,las,mi,mis,tu,tus,su,sus,nuestro,nuestra,este,esta,ese,esa",
        contractions: "de,del|a,al",
        questions: "que,cual,cuales,quien,cuando,donde,adonde,como,cuanto,cuanta,cuantos,cuantas,es,son,quiere,quieres,desea,deseas,puede,puedes,\
            usted,yo,me,nos,favor,diga,dime,indique,indica,elija,elige,o,u",
    },
    texts: Some(EngineTexts {
        confirm_value: "¿Es correcto {value}?",
        yes: "Sí",
        no: "No",
        ask_for_value: "¿{name}?",
        choose_value: "¿A cuál se refiere: {values}?",
        choose_intent: "¿Se refiere a «{first}» o a «{second}»?",
        not_understood: "Lo siento, no le he entendido.",
        error: "Se ha producido un error. Inténtelo de nuevo, por favor.",
    }),
};
