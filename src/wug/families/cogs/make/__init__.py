"""COGS-style data of our own: sentences with their logical forms, and what is held out of training.

`lexicon` has the words, `clauses` turns a clause into a sentence and its form, `drawing` draws clauses,
`generalisations` says what each of the 21 types holds out, `data` puts the files together.
"""
