"""Addresses of the accounts room."""

from django.urls import path

from portal.accounts import people, views

urlpatterns = [
    path("signin", views.signin, name="signin"),
    path("signout", views.signout, name="signout"),
    path("account", views.account, name="account"),
    path("account/password", views.password, name="password"),
    path("account/first-password", people.first_password, name="first-password"),
    path("account/tokens", views.tokens, name="tokens"),
    path("account/tokens/<int:number>/revoke", views.token_revoke, name="token-revoke"),
    path("people", views.people, name="people"),
    path("people/new", people.new, name="person-new"),
    path("people/<int:number>", people.page, name="person-page"),
    path("people/<int:number>/password", people.password, name="person-password"),
    path("people/<int:number>/team", people.team, name="person-team"),
    path("people/<int:number>/<slug:change>", views.person, name="person"),
]
