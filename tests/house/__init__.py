"""The house rules: functions that read a tree and say what is wrong in it, and the tests that apply them to ours."""
