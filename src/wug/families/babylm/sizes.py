"""Numbers of items by subtask, which the leaderboard of BabyLM asks for."""

from __future__ import annotations

from collections.abc import Mapping

_BLIMP = """
adjunct_island 928, anaphor_gender_agreement 971, anaphor_number_agreement 931, animate_subject_passive 895,
animate_subject_trans 923, causative 818, complex_NP_island 846,
coordinate_structure_constraint_complex_left_branch 906, coordinate_structure_constraint_object_extraction 949,
determiner_noun_agreement_1 929, determiner_noun_agreement_2 931, determiner_noun_agreement_irregular_1 681,
determiner_noun_agreement_irregular_2 820, determiner_noun_agreement_with_adj_2 941,
determiner_noun_agreement_with_adj_irregular_1 718, determiner_noun_agreement_with_adj_irregular_2 840,
determiner_noun_agreement_with_adjective_1 933, distractor_agreement_relational_noun 788,
distractor_agreement_relative_clause 871, drop_argument 920, ellipsis_n_bar_1 802, ellipsis_n_bar_2 828,
existential_there_object_raising 812, existential_there_quantifiers_1 930, existential_there_quantifiers_2 911,
existential_there_subject_raising 924, expletive_it_object_raising 759, inchoative 855, intransitive 868,
irregular_past_participle_adjectives 961, irregular_past_participle_verbs 942,
irregular_plural_subject_verb_agreement_1 804, irregular_plural_subject_verb_agreement_2 892,
left_branch_island_echo_question 947, left_branch_island_simple_question 951,
matrix_question_npi_licensor_present 929, npi_present_1 909, npi_present_2 914, only_npi_licensor_present 882,
only_npi_scope 837, passive_1 840, passive_2 903, principle_A_c_command 946, principle_A_case_1 912,
principle_A_case_2 915, principle_A_domain_1 914, principle_A_domain_2 915, principle_A_domain_3 941,
principle_A_reconstruction 967, regular_plural_subject_verb_agreement_1 890,
regular_plural_subject_verb_agreement_2 945, sentential_negation_npi_licensor_present 919,
sentential_negation_npi_scope 871, sentential_subject_island 961, superlative_quantifiers_1 979,
superlative_quantifiers_2 986, tough_vs_raising_1 948, tough_vs_raising_2 920, transitive 868, wh_island 960,
wh_questions_object_gap 859, wh_questions_subject_gap 898, wh_questions_subject_gap_long_distance 857,
wh_vs_that_no_gap 861, wh_vs_that_no_gap_long_distance 875, wh_vs_that_with_gap 919,
wh_vs_that_with_gap_long_distance 910"""
"""Pairs by paradigm that the vocabulary filter keeps."""


def _table(text: str) -> dict[str, int]:
    pairs = (entry.split() for entry in text.replace("\n", " ").split(","))
    return {name: int(number) for name, number in pairs}


SIZES: Mapping[str, Mapping[str, int] | int] = {
    "blimp_filtered": _table(_BLIMP),
    "blimp_fast": 200,
    "supplement_filtered": {
        "hypernym": 842,
        "qa_congruence_easy": 64,
        "qa_congruence_tricky": 165,
        "subject_aux_inversion": 3867,
        "turn_taking": 280,
    },
    "supplement_fast": 50,
    "ewok_fast": 100,
    "comps": {"base": 49340, "wugs": 13896, "wugs_dist_before": 13896, "wugs_dist_in_between": 13896},
}
"""Items by folder and UID; a number if all UIDs have as many. Other folders are known by their total only."""
