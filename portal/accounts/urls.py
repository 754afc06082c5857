"""Addresses of the accounts room."""

from django.urls import path

from portal.accounts import views

urlpatterns = [
    path("signin", views.signin, name="signin"),
    path("signout", views.signout, name="signout"),
    path("account", views.account, name="account"),
    path("account/password", views.password, name="password"),
    path("account/tokens", views.tokens, name="tokens"),
    path("account/tokens/<int:number>/revoke", views.token_revoke, name="token-revoke"),
    path("people", views.people, name="people"),
    path("people/<int:number>/<slug:change>", views.person, name="person"),
]
