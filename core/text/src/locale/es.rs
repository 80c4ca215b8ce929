//! Spanish.

use super::EngineTexts;
use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "es",
    weekdays: [
        ["lunes", "lun"],
        ["martes", "mar"],
        ["miércoles", "mié"],
        ["jueves", "jue"],
        ["viernes", "vie"],
        ["sábado", "sáb"],
        ["domingo", "dom"],
    ],
    words: LocaleWords {
        and: "y,e",
        determiners: "un,una,el,la,los,las,mi,mis,tu,tus,su,sus,nuestro,nuestra,este,esta,ese,esa",
        contractions: "de,del|a,al",
        questions: "que,cual,cuales,quien,cuando,donde,adonde,como,cuanto,cuanta,cuantos,cuantas,es,son,quiere,quieres,desea,deseas,puede,puedes,\
            usted,yo,me,nos,favor,diga,dime,indique,indica,elija,elige,o,u",
        free_words: "pregunta,preguntas,consulta,problema,problemas,mensaje,mensajes,solicitud,ayuda,ayudar,ayudarle,comentario,comentarios,describa,describe,descripcion,detalles,tema,asunto,nota,texto,paso,pasa,idea,ideas,opinion,motivo,razon,queja,observacion,buscar,deseo,contenido",
    },
    texts: Some(EngineTexts {
        confirm_value: "¿Es correcto {value}?",
        yes: "Sí",
        no: "No",
        ask_for_value: "¿{name}?",
        choose_value: "¿A cuál se refiere: {values}?",
        choose_intent: "¿Se refiere a «{first}» o a «{second}»?",
        not_understood: "Lo siento, no le he entendido.",
        cancelled: "De acuerdo, lo he cancelado.",
        nothing_to_cancel: "Ahora mismo no hay nada que cancelar.",
        answer_needed: "Necesito una respuesta para continuar.",
        reason_for_question: "Lo necesito para «{name}».",
        first_question: "Esta es la primera pregunta.",
        cannot_change: "Eso ya no se puede cambiar.",
        corrected: "De acuerdo: {value}.",
        started_over: "De acuerdo, empecemos de nuevo.",
        no_person: "Lo siento, aquí nadie puede atenderle.",
        returned: "Volvamos a «{name}».",
        can_help_with: "Puedo ayudarle con: {names}.",
        not_understood_again: "Sigo sin entenderle. Dígalo con otras palabras, por favor.",
        given_up: "Lo siento, no puedo ayudarle con eso.",
        left_alone: "De acuerdo, no lo haré.",
        error: "Se ha producido un error. Inténtelo de nuevo, por favor.",
    }),
};
