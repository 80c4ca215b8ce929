//! Spanish.

use super::EngineTexts;
use super::{Language, LocaleWords, NumberWords};

pub(super) static LANGUAGE: Language = Language {
    code: "es",
    words: LocaleWords {
        and: "y,e",
        article: "un,una",
        half: "media,medio",
        determiners: "un,una,el,la,los,las,mi,mis,tu,tus,su,sus,nuestro,nuestra,este,esta,ese,esa",
        contractions: "de,del|a,al",
        months: "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre,setiembre|octubre|noviembre|diciembre",
        weekdays: "lunes|martes|miercoles|jueves|viernes|sabado|domingo",
        days: "hoy|manana|ayer|pasado manana",
        before_other_day: "la,esta,pasado",
        after_past_day: "pasado",
        before_month: "de",
        before_offset: "en,dentro de",
        after_offset: "",
        units: "anos,ano|meses,mes|semanas,semana|dias,dia,d|horas,hora,h|minutos,minuto,min,m|segundos,segundo,seg,s",
        yes: "si,sip,claro,claro que si,vale,ok,okay,correcto,exacto,cierto,por supuesto,desde luego,de acuerdo,verdadero,como no,por que no",
        no: "no,nunca,jamas,incorrecto,falso,para nada,claro que no,por supuesto que no,de ninguna manera",
        not: "nada",
        unsure: "no se,no lo se,no estoy seguro,no estoy segura,quizas,quiza,tal vez",
        whole_text_only: ["1,s", "0,n"],
        numbers: Some(NumberWords {
            ones: "cero|uno,un,una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince|dieciseis|diecisiete|\
                   dieciocho|diecinueve|veinte|veintiuno,veintiun,veintiuna|veintidos|veintitres|veinticuatro|veinticinco|veintiseis|\
                   veintisiete|veintiocho|veintinueve",
            tens: "|treinta|cuarenta|cincuenta|sesenta|setenta|ochenta|noventa",
            hundreds: "cien,ciento|doscientos,doscientas|trescientos,trescientas|cuatrocientos,cuatrocientas|quinientos,quinientas|\
                       seiscientos,seiscientas|setecientos,setecientas|ochocientos,ochocientas|novecientos,novecientas",
            scales: &[("mil", 3), ("millon,millones", 6)],
            and_after_ten: "y",
            point: "coma,punto",
            minus: "menos",
            percent: "por ciento",
            is_one_implied: true,
            ..NumberWords::NONE
        }),
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
