from django.urls import path

from messaging.api import messages, operations, parties

urlpatterns = [
    path("enterprises/", parties.EnterprisesView.as_view()),
    path("enterprises/<str:party_id>/", parties.EnterpriseView.as_view()),
    path("subsystems/", parties.SubsystemsView.as_view()),
    path("subsystems/<str:party_id>/", parties.SubsystemView.as_view()),
    path("devices/", parties.DevicesView.as_view()),
    path("devices/<str:party_id>/", parties.DeviceView.as_view()),
    path("devices/<str:party_id>/rotate-key/", parties.RotateDeviceKeyView.as_view()),
    path("databases/", parties.DatabasesView.as_view()),
    path("databases/<str:party_id>/", parties.DatabaseView.as_view()),
    path("databases/<str:party_id>/rotate-key/", parties.RotateDatabaseKeyView.as_view()),
    path("messages/", messages.MessagesView.as_view()),
    path("messages/<str:message_id>/confirm/", messages.ConfirmView.as_view()),
    path("messages/<str:message_id>/receipt/", messages.ReceiptView.as_view()),
    path("messages/<str:message_id>/set-aside/", operations.SetAsideView.as_view()),
    path("messages/<str:message_id>/bring-back/", operations.BringBackView.as_view()),
]
